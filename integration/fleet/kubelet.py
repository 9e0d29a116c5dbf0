"""Windows nodes without Windows: a scheduler that puts a DaemonSet's pod where its affinity says, and
kubelets that start and end pods at once. A pod whose image's tag ends in -broken does not start on
nodes whose number is a multiple of three.

    kubelet.py NODES KUBECONFIG
"""

import concurrent.futures
import datetime
import json
import ssl
import sys
import time
import urllib.error
import urllib.request

import yaml

JSON, MERGE = "application/json", "application/strategic-merge-patch+json"


class Server:
    def __init__(self, kubeconfig):
        with open(kubeconfig) as file:
            config = yaml.safe_load(file)
        self.base = config["clusters"][0]["cluster"]["server"]
        self.token = config["users"][0]["user"]["token"]
        # It made its certificate itself.
        self.tls = ssl._create_unverified_context()

    def call(self, method, path, body=None, kind=JSON):
        request = urllib.request.Request(
            self.base + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": kind},
        )
        try:
            with urllib.request.urlopen(request, context=self.tls) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            # Somebody else was faster.
            if error.code not in (404, 409):
                print(method, path, error.code, error.read()[:200], flush=True)
            return None


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def conditions(*kinds):
    return [{"type": kind, "status": "True", "lastTransitionTime": now()} for kind in kinds]


def make_node(server, number):
    name = f"win-{number}"
    labels = {"kubernetes.io/os": "windows", "kubernetes.io/hostname": name}
    server.call("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    status = {"conditions": conditions("Ready"), "capacity": room, "allocatable": room}
    server.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, MERGE)


def starts(pod):
    broken = pod["spec"]["containers"][0]["image"].endswith("-broken")
    return not broken or int(pod["spec"]["nodeName"].rpartition("-")[2]) % 3 != 0


def serve(server, pod):
    metadata, spec = pod["metadata"], pod["spec"]
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
    if metadata.get("deletionTimestamp"):
        server.call("DELETE", path, {"gracePeriodSeconds": 0})
    elif not spec.get("nodeName"):
        affinity = spec["affinity"]["nodeAffinity"]
        terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        target = {"kind": "Node", "name": terms[0]["matchFields"][0]["values"][0]}
        body = {"target": target, "metadata": {"name": metadata["name"]}}
        server.call("POST", path + "/binding", body)
    elif pod["status"]["phase"] == "Pending" and starts(pod):
        ready = conditions("PodScheduled", "Initialized", "ContainersReady", "Ready")
        server.call(
            "PATCH", path + "/status", {"status": {"phase": "Running", "conditions": ready}}, MERGE
        )


def is_work(pod):
    return (
        pod["metadata"].get("deletionTimestamp")
        or not pod["spec"].get("nodeName")
        or pod["status"]["phase"] == "Pending"
    )


def main():
    server = Server(sys.argv[2])
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: make_node(server, number), range(int(sys.argv[1]))))
        while True:
            pods = server.call("GET", "/api/v1/pods")["items"]
            list(pool.map(lambda pod: serve(server, pod), filter(is_work, pods)))
            time.sleep(0.5)


if __name__ == "__main__":
    main()

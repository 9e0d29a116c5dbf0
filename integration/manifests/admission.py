"""Has a real API server admit or refuse pods, as the manifests of this folder say. See check.sh.

admission.py APISERVER
"""

import contextlib
import copy
import json
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import check

PIPE = r"\\.\pipe\csi-proxy-"
POLICY = "csi-proxy-pipes"
DRIVER = "example-csi-node"
# The kinds that have no namespace.
CLUSTER = {"Namespace", "CSIDriver", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
# The seconds in which the server's informer must notice a changed policy.
PATIENCE = 20


class Server:
    def __init__(self, told):
        self.address, self.token = told["address"], told["token"]
        self.context = ssl.create_default_context(cafile=told["certificate"])

    def ask(self, method, path, body=None):
        """Returns the code and the answer."""
        request = urllib.request.Request(self.address + path, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "application/json")
        content = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, content, context=self.context) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def create(self, resource, dry_run):
        """Returns why the server refuses a resource; empty if it does not. Unknown and repeated fields are errors."""
        query = "fieldValidation=Strict" + ("&dryRun=All" if dry_run else "")
        code, answer = self.ask("POST", f"{path_of(resource)}?{query}", resource)
        return "" if code == 201 else answer["message"]


def path_of(resource):
    version, kind = resource["apiVersion"], resource["kind"]
    plural = kind.lower() + "s" if not kind.endswith("Policy") else kind.lower()[:-1] + "ies"
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = "" if kind in CLUSTER else f"/namespaces/{resource['metadata']['namespace']}"
    return f"{root}{namespace}/{plural}"


@contextlib.contextmanager
def running(program):
    with tempfile.TemporaryDirectory() as directory, open(f"{directory}/log", "w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            [program, directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            told = process.stdout.readline()
            if not told:
                log.seek(0)
                raise RuntimeError(f"the API server does not start: {log.read()[-2000:]}")
            yield Server(json.loads(told))
        finally:
            process.stdin.close()
            process.wait(60)


def pod(namespace, spec, account=DRIVER):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "try-", "namespace": namespace},
        "spec": {"serviceAccountName": account, "automountServiceAccountToken": False} | spec,
    }


def with_paths(*paths, os="windows"):
    """A pod that mounts paths of the node."""
    names = [f"v{number}" for number in range(len(paths))]
    mounts = [{"name": name, "mountPath": f"C:\\{name}"} for name in names]
    return {
        "os": {"name": os},
        "containers": [{"name": "c", "image": "registry.example/c:1", "volumeMounts": mounts}],
        "volumes": [{"name": n, "hostPath": {"path": p}} for n, p in zip(names, paths, strict=True)],
    }


def application(**changes):
    """A pod of Windows with a volume of the driver, as `restricted` requires."""
    return {
        "os": {"name": "windows"},
        "securityContext": {"runAsNonRoot": True, "windowsOptions": {"runAsUserName": "ContainerUser"}},
        "containers": [{"name": "c", "image": "registry.example/c:1", "volumeMounts": [{"name": "v", "mountPath": "C:\\v"}]}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
    } | changes


HOST_PROCESS = {"windowsOptions": {"hostProcess": True, "runAsUserName": r"NT AUTHORITY\SYSTEM"}}


def host_process(by_container=False):
    container = {"name": "c", "image": "registry.example/c:1"} | ({"securityContext": HOST_PROCESS} if by_container else {})
    return application(hostNetwork=True, securityContext={} if by_container else HOST_PROCESS, containers=[container], volumes=[])


# Words of the refusal; nothing: the pod is admitted.
MOUNT, LEVEL, PLACE = "may not mount", "violates PodSecurity", "may not have HostProcess pods"
CASES = [
    # The driver has its groups, in every version, and no other.
    ("csi-windows", DRIVER, with_paths(PIPE + "disk-v1", PIPE + "volume-v2alpha1"), ""),
    ("csi-windows", DRIVER, with_paths(PIPE + "disk-v1", PIPE + "smb-v1"), MOUNT),
    ("csi-windows", DRIVER, with_paths(PIPE + "admin"), MOUNT),
    ("csi-windows", "csi-proxy", with_paths(PIPE + "disk-v1"), MOUNT),
    # A namespace without a level, where pods may mount every folder of the node.
    ("kube-system", "csi-proxy", with_paths(PIPE + "disk-v1"), MOUNT),
    # The list contains an account of this name only in the driver's namespace.
    ("kube-system", DRIVER, with_paths(PIPE + "disk-v1"), MOUNT),
    ("kube-system", "csi-proxy", with_paths(PIPE.upper() + "DISK-V1"), MOUNT),
    ("kube-system", "csi-proxy", with_paths("//./pipe/csi-proxy-disk-v1"), MOUNT),
    ("kube-system", "csi-proxy", with_paths(r"\\?\pipe\csi-proxy-disk-v1"), MOUNT),
    ("kube-system", "csi-proxy", with_paths(r"\??\pipe\csi-proxy-disk-v1"), MOUNT),
    ("kube-system", "csi-proxy", with_paths(r"\\?\GLOBALROOT\Device\NamedPipe\csi-proxy-disk-v1"), MOUNT),
    ("kube-system", "csi-proxy", with_paths(r"\\localhost\pipe\csi-proxy-disk-v1"), MOUNT),
    ("kube-system", "csi-proxy", with_paths(r"\\localhost\IPC$\csi-proxy-disk-v1"), MOUNT),
    ("kube-system", "csi-proxy", with_paths("//node-1.example/ipc$"), MOUNT),
    ("csi-windows", DRIVER, with_paths(r"\\10.0.0.7\IPC$.\csi-proxy-disk-v1"), MOUNT),
    ("kube-system", "csi-proxy", with_paths(r"\\.\pipe\x\..\csi-proxy-disk-v1"), MOUNT),
    ("kube-system", "csi-proxy", with_paths(r"\\.\pipe"), MOUNT),
    ("kube-system", "csi-proxy", with_paths(r"\\.\PhysicalDrive0"), MOUNT),
    ("kube-system", "csi-proxy", with_paths(r"C:\data", PIPE + "disk-v1"), MOUNT),
    # The policy does not concern other pipes, shares and paths of Linux.
    ("kube-system", "csi-proxy", with_paths(r"\\.\Pipe\containerd-containerd"), ""),
    ("kube-system", "csi-proxy", with_paths(r"\\server\share", r"\\server\pipes\a", r"C:\csi-proxy\pipe"), ""),
    ("kube-system", "csi-proxy", with_paths("/var/lib/kubelet", "/csi-proxy-disk-v1", os="linux"), ""),
    # Pods that are HostProcess by the pod's own field, or by a container's.
    ("csi-windows", DRIVER, host_process(), ""),
    ("kube-system", DRIVER, host_process(), ""),
    ("default", DRIVER, application(), ""),
    ("default", DRIVER, host_process(), PLACE),
    ("default", DRIVER, host_process(by_container=True), PLACE),
    # Applications use volumes, and reach nothing of the node.
    ("example-workloads", "default", application(), ""),
    ("example-workloads", "default", with_paths(PIPE + "disk-v1"), LEVEL),
    ("example-workloads", "default", with_paths(r"C:\data"), LEVEL),
    ("example-workloads", "default", application(hostNetwork=True, securityContext=HOST_PROCESS), LEVEL),
    ("example-workloads", "default", application(os={"name": "linux"}, securityContext={"runAsNonRoot": True}), LEVEL),
    ("example-workloads", "default", application(securityContext={}), LEVEL),
]


def case_complaints(server):
    for namespace, account, spec, words in CASES:
        said = server.create(pod(namespace, spec, account), dry_run=True)
        paths = [v["hostPath"]["path"] for v in spec["volumes"] if "hostPath" in v]
        if bool(said) != bool(words) or words not in said:
            yield f"a pod of {namespace}/{account} with {paths}: {words or 'admitted'!r} was expected, not {said!r}"


def awaited(server):
    """Returns the complaints about the cases, once there are none or after PATIENCE."""
    until = time.monotonic() + PATIENCE
    while (found := list(case_complaints(server))) and time.monotonic() < until:
        time.sleep(0.2)
    return found


def complaints(server, files):
    every = [(file, resource) for file, documents in files.items() for resource in documents]
    first = [one for kind in ("Namespace", "ServiceAccount") for one in every if one[1]["kind"] == kind]
    policy = files["admission.yaml"]
    for file, resource in first + [("admission.yaml", one) for one in policy if one["kind"] != "Namespace"]:
        if said := server.create(resource, dry_run=False):
            yield f"{file}: {said}"
    # A controller makes the account called default, and there is none here.
    for namespace, name in (("example-workloads", "default"), ("kube-system", DRIVER), ("default", DRIVER)):
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}
        if said := server.create(account, dry_run=False):
            yield f"account {namespace}/{name}: {said}"
    yield from awaited(server)
    for file, resource in every:
        if (file, resource) in first or resource in policy:
            continue
        if said := server.create(resource, dry_run=True):
            yield f"{file}: {said}"
    for where, workload in check.workloads(files):
        one = {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(workload["spec"]["template"])}
        one["metadata"] |= {"generateName": "try-", "namespace": workload["metadata"]["namespace"]}
        if said := server.create(one, dry_run=True):
            yield f"{where}: its pod is refused: {said}"


def main():
    files = check.load()
    with running(sys.argv[1]) as server:
        _, version = server.ask("GET", "/version")
        found = list(complaints(server, files))
    for complaint in found:
        print(complaint, file=sys.stderr)
    refused = sum(bool(words) for *_, words in CASES)
    print(
        f"admission: Kubernetes {version['gitVersion']}: {len(check.workloads(files))} workloads, {len(CASES) - refused} pods to admit "
        f"and {refused} to refuse: {len(found)} problems"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

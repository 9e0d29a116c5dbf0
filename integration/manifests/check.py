"""Checks the manifests for what neither a schema nor an API server finds: flags and pipes that the programs do not
have, pods that Windows would not run, and a driver that the kubelet or its probe would not reach. See check.sh.

check.py CSI-PROXY CSI-NODE-SIDECARS
"""

import json
import pathlib
import re
import subprocess
import sys

import yaml

REPOSITORY = pathlib.Path(__file__).parent.parent.parent
DIRECTORY = REPOSITORY / "scripts" / "deploy"
PIPE = "\\\\.\\pipe\\"
PIPES = {rf"{PIPE}csi-proxy-{p.parent.parent.name}-{p.parent.name}" for p in REPOSITORY.glob("api/*/*/api.proto")}


def patched(resource, patch):
    """Returns the resource after a JSON patch that has only the operations used in patches/."""
    resource = json.loads(json.dumps(resource))
    for step in patch:
        *to, last = [int(part) if part.isdigit() else part for part in step["path"].split("/")[1:]]
        holder = resource
        for part in to:
            holder = holder[part]
        holder[last] = step.get("value", holder[last])
        if step["op"] == "remove":
            del holder[last]
    return resource


def diffed(text, diff, reverse=False):
    for hunk in re.split(r"^@@.*\n", diff, flags=re.M)[1:]:
        old, new = ("".join(line[1:] for line in hunk.splitlines(True) if line[0] in marks) for marks in (" -", " +"))
        if text.count(new if reverse else old) != 1:
            raise ValueError(f"sidecars.md: this does not fit embedded-driver.yaml:\n{hunk}")
        text = text.replace(new, old) if reverse else text.replace(old, new)
    return text


def load():
    """Returns every manifest by its file, and the manifests after the patches and the diffs of sidecars.md."""
    files = {f.name: list(yaml.safe_load_all(f.read_text())) for f in sorted(DIRECTORY.glob("*.yaml"))}
    for name, of in (("containerd-1.6.yaml", "embedded-driver.yaml"), ("sig-windows.yaml", "proxy-daemonset.yaml")):
        patch = yaml.safe_load((DIRECTORY / "patches" / name).read_text())
        text = json.dumps([patched(r, patch) if r["kind"] == "DaemonSet" else r for r in files[of]])
        files[name] = json.loads(text.replace("csi-windows", "kube-system") if name == "sig-windows.yaml" else text)
    one = (DIRECTORY / "embedded-driver.yaml").read_text()
    first, second, third = re.findall(r"^```diff\n(.*?)^```", (REPOSITORY / "client" / "drivers" / "sidecars.md").read_text(), re.M | re.S)
    swapped = diffed(one, second, reverse=True)
    stages = {"before": diffed(swapped, first, reverse=True), "swapped": swapped, "none": diffed(one, third)}
    return files | {f"sidecars.md: {name}": list(yaml.safe_load_all(text)) for name, text in stages.items()}


def workloads(files):
    return [(file, r) for file, documents in files.items() for r in documents if r["kind"] in ("DaemonSet", "Job")]


def refusal(program, name, arguments):
    """Returns why the program, called by this name, refuses a command line; 0 if it accepts the line."""
    run = subprocess.run([name, *arguments, "--help"], executable=program, capture_output=True, text=True, check=False)
    return run.returncode and run.stderr.splitlines()[0]


def command_complaints(container, proxy, sidecars):
    words = container.get("command", []) + container.get("args", [])
    program = re.split(r"[\\/]", words[0])[-1].removesuffix(".exe")
    if "/csi-node-sidecars:" in container["image"]:
        yield refusal(sidecars, program if "command" in container else "csi-node-sidecars", container["args"])
    elif program == "csi-proxy":
        yield refusal(proxy, program, container["args"])
    for path in ("bootstrap/install.ps1", "node-check.ps1"):
        script = (REPOSITORY / "service_installer" / "windows" / path).read_text(encoding="utf-8")
        known = re.findall(r"^  (?:\[[^$]*\])?\[\w+(?:\[\])?\]\$(\w+)", script, re.M)
        given = [number for number, word in enumerate(words) if word.endswith("\\" + path.rpartition("/")[2])]
        flags = [word for number in given for word in words[number + 1 :] if word.startswith("-")]
        yield from (f"{path} has no {flag}" for flag in flags if flag[1:] not in known)


def pod_complaints(pod):
    windows, text = pod["securityContext"]["windowsOptions"], json.dumps(pod).replace("\\\\", "\\")
    paths = {v["name"]: v["hostPath"] for v in pod.get("volumes", []) if "hostPath" in v}
    pipes = {name: path["path"] for name, path in paths.items() if path["path"].startswith(PIPE)}
    if pod["os"] != {"name": "windows"} or pod["nodeSelector"].get("kubernetes.io/os") != "windows":
        yield "is not for Windows nodes alone"
    # hcsshim refuses pipes; only the check of a node mounts a directory.
    if windows.get("hostProcess") and (not pod.get("hostNetwork") or pipes or (paths and "-KubeletMounted" not in text)):
        yield "a HostProcess pod has the node's network and no mounts"
    if pipes and windows["runAsUserName"] != "ContainerAdministrator":
        yield "the pipes are open to administrators alone"
    yield from (f"csi-proxy serves no {path}" for path in pipes.values() if path not in PIPES)
    yield from (f"the kubelet would look for a file {p}" for n, p in pipes.items() if paths[n].get("type") != "")
    for mount in (m for container in pod["containers"] for m in container.get("volumeMounts", [])):
        if mount["mountPath"] != pipes.get(mount["name"], mount["mountPath"]):
            yield f"clients look for no pipe at {mount['mountPath']}"
    sockets = {p.lower() for p in re.findall(r"C:\\var\\lib\\kubelet\\plugins\\[^\"]*csi\.sock", text)}
    if len(sockets) > 1:
        yield f"the kubelet is sent to another socket: {sorted(sockets)}"
    probed = {str(c["livenessProbe"]["httpGet"]["port"]) for c in pod["containers"] if "httpGet" in str(c.get("livenessProbe"))}
    ports = {p["name"]: str(p["containerPort"]) for c in pod["containers"] for p in c.get("ports", [])}
    if not {ports.get(port, port) for port in probed} <= set(re.findall(r"--http-endpoint=[\d.]*:(\d+)", text)):
        yield "nothing serves the port that the kubelet probes"
    if pod.get("hostNetwork") and "--http-endpoint=:" in text:
        yield "the node's network reaches /healthz"


def main():
    every, found = workloads(load()), []
    for where, resource in every:
        pod = resource["spec"]["template"]["spec"]
        said = [c for one in pod.get("initContainers", []) + pod["containers"] for c in command_complaints(one, *sys.argv[1:])]
        found += [f"{where}: {complaint}" for complaint in [*said, *pod_complaints(pod)] if complaint]
    print(*found, f"manifests: {len(every)} workloads: {len(found)} problems", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

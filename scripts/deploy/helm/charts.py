"""Checks what drivers' own charts and manifests make of the values here. See check.sh."""

import dataclasses
import pathlib
import re
import subprocess
import sys

import yaml

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import manifests  # noqa: E402
import sidecars  # noqa: E402

PIPE = "\\\\.\\pipe\\"


@dataclasses.dataclass
class Release:
    """Values, and the chart of the driver that they are for."""

    name: str
    values: str
    chart: pathlib.Path

    def groups(self):
        """The groups that the values say the service has to serve."""
        return set(re.search(r"^# Groups: (\S+)$", self.values, re.M)[1].split(","))


def unknown_keys(given, known, path=""):
    """Helm ignores what a chart does not know."""
    for key, value in given.items():
        where = f"{path}.{key}" if path else key
        if key not in known:
            yield where
        elif isinstance(value, dict) and isinstance(known[key], dict):
            yield from unknown_keys(value, known[key], where)


def rendered(helm, release):
    run = subprocess.run(
        [helm, "template", release.name, str(release.chart), "--namespace=kube-system", "-f", "-"],
        input=release.values,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if run.returncode != 0:
        raise ValueError(run.stderr.strip())
    return manifests.parse(run.stdout)


def windows_pods(resources):
    for resource in resources:
        if resource["kind"] == "DaemonSet":
            pod = manifests.Pod(resource["metadata"]["name"], None, resource)
            if pod.spec.get("nodeSelector", {}).get("kubernetes.io/os") == "windows":
                yield pod


def pipe_complaints(pods, groups):
    """Yields the reasons why pods could not use the service's pipes."""
    pods = list(pods)
    if len(pods) != 1:
        yield f"{len(pods)} DaemonSets for Windows nodes"
        return
    pod = pods[0]
    if pod.host_process:
        yield f"{pod.where} is a HostProcess pod, which mounts no pipes"
        return
    pipes = {
        volume["name"]: volume["hostPath"]
        for volume in pod.volumes
        if volume.get("hostPath", {}).get("path", "").startswith(PIPE)
    }
    for pipe in pipes.values():
        if pipe["path"] not in manifests.served_pipes():
            yield f"{pod.where} mounts {pipe['path']}, which is not served"
        if pipe.get("type"):
            yield f"{pod.where} gives {pipe['path']} a type"
    for container in pod.containers:
        for mount in container.get("volumeMounts", []):
            if mount["name"] in pipes and mount["mountPath"] != pipes[mount["name"]]["path"]:
                yield f"{pod.where} mounts a pipe as {mount['mountPath']}"
    used = {pipe["path"].split("-")[2] for pipe in pipes.values()}
    if used != groups:
        yield f"{pod.where} uses the groups {sorted(used)}, not {sorted(groups)}"


def complaints(helm, release):
    known = yaml.safe_load((release.chart / "values.yaml").read_text())
    for key in unknown_keys(yaml.safe_load(release.values), known):
        yield f"{release.name}: its chart has no {key}"
    try:
        resources = rendered(helm, release)
    except ValueError as error:
        yield f"{release.name}: {error}"
        return
    for complaint in pipe_complaints(windows_pods(resources), release.groups()):
        yield f"{release.name}: {complaint}"


def sidecar_complaints(name, pods, program, known):
    """Yields our program's complaints about command lines of upstream's programs, called by their names."""
    found = [
        container
        for pod in pods
        for container in sidecars.containers(pod)
        if container.image[0] in sidecars.PREFIX
    ]
    if {container.program for container in found} != known:
        yield f"{name}: has other sidecars than {sorted(known)}"
    for container in found:
        if problem := manifests.takes_as(program, container.program, container.arguments):
            yield f"{name}: {container.where}: {problem}"


def host_process(release):
    """The pods that the chart makes by default."""
    values = "windows: {enabled: true, useHostProcessContainers: true}"
    return dataclasses.replace(release, values=values)


# Mistakes in the values, and what must be said of them.
MISTAKES = [
    ("useHostProcessContainers", "useHostProcessContainer", "has no windows.useHost"),
    ("Containers: false", "Containers: true", "HostProcess"),
    ("enabled: true", "enabled: false", "0 DaemonSets"),
    ("enabled: true", "enabled: [", "yaml"),
    ("# Groups: ", "# Groups: system,", "uses the groups"),
]


def unnoticed(helm, release):
    for old, new, words in MISTAKES:
        changed = dataclasses.replace(release, values=release.values.replace(old, new))
        try:
            found = list(complaints(helm, changed))
        except yaml.YAMLError as error:
            found = [f"yaml: {error}"]
        if changed.values == release.values or not any(words in complaint for complaint in found):
            yield f"{release.name}: {new!r} was not noticed as {words!r}, but as {found}"


def main():
    helm, program, *charts = sys.argv[1:]
    found = []
    checked = 0
    for chart in charts:
        name, _, path = chart.partition("=")
        if name == "gcp-pd":
            # It has no chart: a manifest for kustomize.
            pods = list(windows_pods(manifests.parse(pathlib.Path(path).read_text())))
            found += [f"{name}: {c}" for c in pipe_complaints(pods, {"disk", "filesystem", "volume"})]
            found += sidecar_complaints(name, pods, program, {sidecars.REGISTRAR})
            pods[0].spec["containers"][0]["args"].append("--csi-adress=x")
            if not list(sidecar_complaints(name, pods, program, {sidecars.REGISTRAR})):
                found.append(f"{name}: --csi-adress was not noticed")
        else:
            release = Release(name, (HERE / f"{name}.yaml").read_text(), pathlib.Path(path))
            found += list(complaints(helm, release)) or list(unnoticed(helm, release))
            for one, known in (
                (release, {sidecars.REGISTRAR, sidecars.PROBE}),
                (host_process(release), {sidecars.REGISTRAR}),
            ):
                found += sidecar_complaints(name, windows_pods(rendered(helm, one)), program, known)
        checked += 1
    for complaint in found:
        print(complaint, file=sys.stderr)
    print(f"drivers' charts and manifests: {checked}, {len(MISTAKES) + 1} mistakes to notice: {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

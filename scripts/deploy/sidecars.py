"""Tells by a container's program and flags who registers a driver and answers for its health, and makes
the same driver with other sidecars, by sidecars.md's diffs."""

import dataclasses
import functools
import pathlib
import re
import subprocess
import tempfile

# The manifests ask for this memory for node-sidecars. sidecars.md tells where the figures are from.
MEMORY = {"requests": "20Mi", "limits": "64Mi"}

REGISTRAR = "csi-node-driver-registrar"
PROBE = "livenessprobe"
BOTH = "csi-node-sidecars"
# The name that KEP-4958 has for one program of all sidecars.
KEP_4958 = "csi-sidecars"
PREFIX = {REGISTRAR: "node-driver-registrar-", PROBE: "livenessprobe-"}
# The flag of a driver that needs neither, as the sample driver has it.
SELF = "register-with-kubelet"
PLUGINS_REGISTRY = {
    "windows": r"c:\var\lib\kubelet\plugins_registry",
    "linux": r"\var\lib\kubelet\plugins_registry",
}

# From what a driver has today to none at all; sidecars.md has a diff for each step.
STEPS = ("before", "swapped", "one", "none")
WHOLE = "embedded-driver.yaml"


def step(name):
    return f"sidecars.md: {name}"


def _patched(text, diff, *options):
    with tempfile.TemporaryDirectory() as directory:
        here = pathlib.Path(directory)
        (here / "old").write_text(text)
        (here / "diff").write_text(diff)
        # --fuzz=0: a diff that has got out of step is a mistake.
        command = ["patch", "--fuzz=0", "--silent", "--force", *options, "-o", "new", "old", "diff"]
        run = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise ValueError(f"sidecars.md: a diff does not fit {WHOLE}: {run.stdout.strip()}")
        return (here / "new").read_text()


def steps(page, whole):
    """The manifests of the steps that have no file of their own."""
    diffs = re.findall(r"^```diff\n(.*?)^```", page, re.M | re.S)
    if len(diffs) != len(STEPS) - 1:
        raise ValueError(f"sidecars.md: {len(diffs)} diffs, not {len(STEPS) - 1}")
    swapped = _patched(whole, diffs[1], "--reverse")
    texts = (_patched(swapped, diffs[0], "--reverse"), swapped, _patched(whole, diffs[2]))
    return dict(zip((STEPS[0], STEPS[1], STEPS[3]), texts, strict=True))


def same(path):
    """A path as Windows compares it; one of Linux gets its slashes. YAML's plain scalars keep the doubled backslashes of charts."""
    return re.sub(r"\\+", r"\\", path.removeprefix("unix://").replace("/", "\\")).rstrip("\\").lower()


@dataclasses.dataclass
class Container:
    """A container of a pod, by its program and flags."""

    pod: object
    spec: dict

    @property
    def where(self):
        return f"{self.pod.where}: {self.spec['name']}"

    @property
    def image(self):
        """Its name and tag, without the registry."""
        name, _, tag = self.spec["image"].rpartition("/")[2].partition(":")
        return name, tag

    @functools.cached_property
    def program(self):
        """Without .exe; the entry point of an image of one program has the image's name."""
        name = self.spec.get("command", [self.image[0]])[0]
        return re.split(r"[\\/]", name)[-1].removesuffix(".exe")

    @functools.cached_property
    def arguments(self):
        known = {variable["name"]: variable.get("value", "") for variable in self.spec.get("env", [])}
        return [
            re.sub(r"\$\((\w+)\)", lambda name: known.get(name[1], name[0]), argument)
            for argument in self.spec.get("args", [])
        ]

    @functools.cached_property
    def flags(self):
        pairs = (argument.lstrip("-").partition("=") for argument in self.arguments)
        return {name: value for name, _, value in pairs}

    def flag(self, sidecar, name, default=""):
        return self.flags.get(PREFIX[sidecar] + name, self.flags.get(name, default))

    @property
    def driver(self):
        return "endpoint" in self.flags

    @property
    def sidecars(self):
        """The sidecars, of the two, that the container runs."""
        if self.program in (BOTH, KEP_4958):
            both = "node-driver-registrar,livenessprobe"
            chosen = self.flags.get("sidecars", self.flags.get("controllers", both)).split(",")
            return [one for one in (REGISTRAR, PROBE) if PREFIX[one][:-1] in chosen]
        if self.driver:
            return [REGISTRAR, PROBE] if SELF in self.flags else []
        return [self.program] if self.program in PREFIX else []

    @property
    def socket(self):
        """The path of the driver's socket on the node."""
        if self.driver:
            return self.on_node(self.flags["endpoint"])
        return self.on_node(self.flags.get("csi-address", "/run/csi/socket"))

    @property
    def registry(self):
        given = self.flag(REGISTRAR, "plugin-registration-path", r"C:\registration")
        return self.on_node(self.flags.get(SELF, given))

    @property
    def registered(self):
        """The socket's path for the kubelet; a driver that registers itself has it as its endpoint."""
        own = self.flags["endpoint"] if self.driver else ""
        return same(self.flag(REGISTRAR, "kubelet-registration-path", own))

    def on_node(self, path):
        """The path that the node has for one of the container's; nothing for what is its own."""
        path = same(path)
        if self.pod.host_process:
            return path
        volumes = {v["name"]: v.get("hostPath", {}).get("path") for v in self.pod.volumes}
        for mount in self.spec.get("volumeMounts", []):
            at = same(mount["mountPath"])
            if volumes.get(mount["name"]) and (path == at or path.startswith(at + "\\")):
                return same(volumes[mount["name"]] + path[len(at) :])
        return ""

    def _addresses(self, sidecar):
        endpoint = self.flag(sidecar, "http-endpoint")
        yield "/metrics", self.flag(sidecar, "metrics-address")
        if endpoint:
            yield "/healthz", endpoint
        elif (port := self.flag(sidecar, "health-port", "9808" if sidecar == PROBE else "0")) != "0":
            yield "/healthz", "0.0.0.0:" + port

    def listens(self):
        """Host and port of each server, with the paths that it answers."""
        found = {}
        named = [pair for sidecar in self.sidecars for pair in self._addresses(sidecar)]
        named.append(("/metrics", self.flags.get("metrics-bind-address")))
        for path, address in named:
            if address:
                host, _, port = address.rpartition(":")
                found.setdefault((host, int(port)), []).append(path)
        for paths in found.values():
            # The registrar's, where it shares the address: the first of the two above.
            if paths.count("/healthz") > 1:
                paths[paths.index("/healthz")] += "/node-driver-registrar"
        return found


def containers(pod):
    return [Container(pod, spec) for spec in pod.containers]

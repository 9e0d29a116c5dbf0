"""Rules for a driver's way to the kubelet, and for probes of its health. Each rule yields complaints."""

import json
import re
import sys

import manifests
import sidecars

sys.path.insert(0, str(manifests.REPOSITORY / "scripts/release"))
import oci_image  # noqa: E402

LOCAL = "127.0.0.1"
EVERYWHERE = ("", "0.0.0.0")


def registration(all_):
    for pod in all_.pods():
        every = sidecars.containers(pod)
        drivers = [container for container in every if container.driver]
        registrars = [c for c in every if sidecars.REGISTRAR in c.sidecars]
        if len(registrars) != len(drivers):
            yield f"{pod.where}: {len(registrars)} containers register {len(drivers)} driver"
        for driver in drivers:
            for container in every:
                if container.sidecars and container.socket != driver.socket:
                    yield f"{container.where}: asks at another socket than the driver's"
            for registrar in registrars:
                if registrar.registered != driver.socket:
                    yield f"{registrar.where}: sends the kubelet to another socket than the driver's"
                if registrar.registry != sidecars.PLUGINS_REGISTRY["linux" if pod.linux else "windows"]:
                    yield f"{registrar.where}: registers where the kubelet does not look"


def _seconds(duration):
    """Returns 0 for a text that is no duration: the program itself refuses that."""
    match = re.fullmatch(r"(\d+)(ms|s|m)", duration)
    return int(match[1]) * {"ms": 0.001, "s": 1, "m": 60}[match[2]] if match else 0


def probes(all_):
    for pod in all_.pods():
        every = sidecars.containers(pod)
        for container in every:
            probe = container.spec.get("livenessProbe", {}).get("httpGet")
            if not probe:
                continue
            ports = {port["name"]: port["containerPort"] for port in container.spec.get("ports", [])}
            port = ports.get(probe["port"], probe["port"])
            # The kubelet goes to the pod's address unless told where.
            hosts = [probe["host"]] if "host" in probe else EVERYWHERE
            # A registrar's /healthz is not about the driver.
            able = [c for c in every if sidecars.PROBE in c.sidecars or not container.driver]
            answers = [
                one for one in able for host in hosts if probe["path"] in one.listens().get((host, port), [])
            ]
            if not answers:
                yield f"{container.where}: nobody answers its probe"
            for one in answers:
                timeout = _seconds(one.flag(sidecars.PROBE, "probe-timeout", "1s"))
                if container.spec["livenessProbe"].get("timeoutSeconds", 1) <= timeout:
                    yield f"{container.where}: the kubelet gives its probe up before it is answered"
            if pod.spec.get("hostNetwork") and probe.get("host") != LOCAL:
                yield f"{container.where}: its probe is open to the node's network"


def addresses(all_):
    on_node = {}
    for pod in all_.pods():
        in_pod = {}
        for container in sidecars.containers(pod):
            for host, port in container.listens():
                if container.sidecars and pod.spec.get("hostNetwork") and host != LOCAL:
                    yield f"{container.where}: port {port} is open to the node's network"
                # The containers of a pod share its network, and HostProcess pods the node's.
                if in_pod.setdefault(port, container.where) != container.where:
                    yield f"{container.where}: port {port} is {in_pod[port]}'s"
        # A DaemonSet with the name of another takes its place and does not run beside it.
        name = (pod.namespace, pod.resource["metadata"]["name"])
        for port, where in in_pod.items() if pod.spec.get("hostNetwork") else ():
            if on_node.setdefault(port, (name, where))[0] != name:
                yield f"{where}: port {port} is {on_node[port][1]}'s, on the same node"


def images(all_):
    """Those of node-sidecars: scripts/release/oci_image.py says what is in them."""
    for pod in all_.pods():
        for container in sidecars.containers(pod):
            if container.image[0] != sidecars.BOTH:
                continue
            if container.program + ".exe" not in oci_image.SIDECARS:
                yield f"{container.where}: its image has no {container.program}"
            # Without Windows in it, the release's runs on Windows as a HostProcess container only.
            if (pod.host_process or pod.linux) == container.image[1].endswith("-nanoserver"):
                yield f"{container.where}: its image is for the other kind of pod"
            for kind, memory in sidecars.MEMORY.items():
                if container.program == sidecars.BOTH and container.spec["resources"][kind]["memory"] != memory:
                    yield f"{container.where}: its memory is not what sidecars.py says"


def flags(all_):
    for pod in all_.pods():
        for container in sidecars.containers(pod):
            if container.image[0] == sidecars.BOTH:
                problem = manifests.takes_as(all_.sidecars, container.program, container.arguments)
                if problem:
                    yield f"{container.where}: {problem}"


def steps(all_):
    """sidecars.md's four stages of one driver, each a rolling update of the one before."""
    chain = [
        all_.pod(sidecars.WHOLE if name == "one" else sidecars.step(name)) for name in sidecars.STEPS
    ]
    for name, pod, beside in zip(sidecars.STEPS, chain, (2, 2, 1, 0), strict=True):
        if sum(bool(c.sidecars) and not c.driver for c in sidecars.containers(pod)) != beside:
            yield f"sidecars.md: {name}: there are not {beside} containers beside the driver"
        if pod.resource["metadata"] != chain[2].resource["metadata"]:
            yield f"sidecars.md: {name}: is another DaemonSet"
    swapped = json.loads(json.dumps(chain[0].resource))
    for old, new in zip(swapped["spec"]["template"]["spec"]["containers"], chain[1].spec["containers"], strict=False):
        old["image"] = new["image"]
    if swapped != chain[1].resource:
        yield "sidecars.md: swapped: more than images has changed"


RULES = [registration, probes, addresses, images, flags, steps]

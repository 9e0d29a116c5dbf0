"""Mistakes with sidecars that the checks must notice, made in the manifests and in sidecars.md."""

from mutations import DRIVER, EMBEDDED, LEGACY, PROXY, SPEC, put
from sidecars import step

BESIDE = (*SPEC, "containers", 1)
PROBER = (*SPEC, "containers", 2)
BEFORE, SWAPPED, NONE = step("before"), step("swapped"), step("none")
SOCKET = r"C:\var\lib\kubelet\plugins\example.csi.k8s.io\other.sock"
IMAGE = "registry.example/csi-node-sidecars:2.0.0"

MUTATIONS = [
    put(
        "another socket for the kubelet",
        "sends the kubelet to another socket",
        EMBEDDED,
        (*BESIDE, "args", 1),
        "--kubelet-registration-path=" + SOCKET,
    ),
    put(
        "the pod's path for the kubelet",
        "sends the kubelet to another socket",
        LEGACY,
        (*BESIDE, "args", 1),
        r"--kubelet-registration-path=C:\csi\csi.sock",
    ),
    put("another driver's socket", "asks at another", EMBEDDED, (*BESIDE, "env", 0, "value"), SOCKET),
    put(
        "a socket that is not mounted",
        "asks at another",
        LEGACY,
        (*BESIDE, "volumeMounts", 0, "mountPath"),
        "C:\\plugin",
    ),
    put("no socket", "asks at another", SWAPPED, (*PROBER, "args", 0), "--v=2"),
    put(
        "another registry",
        "where the kubelet does not look",
        EMBEDDED,
        (*BESIDE, "args", 2),
        r"--plugin-registration-path=C:\var\lib\kubelet\plugins",
    ),
    put(
        "the pod's registry on the node",
        "where the kubelet does not look",
        EMBEDDED,
        (*BESIDE, "args", 2),
        r"--plugin-registration-path=C:\registration",
    ),
    put(
        "a registry that is not mounted",
        "where the kubelet does not look",
        LEGACY,
        (*BESIDE, "volumeMounts", 1, "mountPath"),
        "C:\\registry",
    ),
    put(
        "another directory mounted as the registry",
        "where the kubelet does not look",
        LEGACY,
        (*SPEC, "volumes", 3, "hostPath", "path"),
        r"C:\var\lib\kubelet\device-plugins",
    ),
    put("no registrar", "0 containers register 1", EMBEDDED, (*BESIDE, "args", 5), "--sidecars=livenessprobe"),
    put("no registration", "0 containers register 1", NONE, (*DRIVER, "args", 3), "--v=2"),
    put(
        "two registrars",
        "2 containers register 1",
        BEFORE,
        (*PROBER, "command", 0),
        r"C:\hpc\csi-node-driver-registrar.exe",
    ),
    put(
        "a probe of another path",
        "nobody answers",
        EMBEDDED,
        (*DRIVER, "livenessProbe", "httpGet", "path"),
        "/health",
    ),
    put("nobody to probe", "nobody answers", LEGACY, (*BESIDE, "args", 5), "--sidecars=node-driver-registrar"),
    put(
        "a probe without patience",
        "gives its probe up",
        EMBEDDED,
        (*DRIVER, "livenessProbe", "timeoutSeconds"),
        3,
    ),
    put(
        "a server open to the network",
        "port 9808 is open",
        EMBEDDED,
        (*BESIDE, "args", 4),
        "--http-endpoint=:9808",
    ),
    put("a server where it is by default", "port 9808 is open", BEFORE, (*PROBER, "args", 1), "--v=2"),
    put(
        "a driver's server open to the network",
        "port 9808 is open",
        NONE,
        (*DRIVER, "args", 4),
        "--http-endpoint=0.0.0.0:9808",
    ),
    put(
        "one port for two containers",
        "port 9808 is ",
        SWAPPED,
        (*BESIDE, "args", 3),
        "--http-endpoint=127.0.0.1:9808",
    ),
    put(
        "one port for two pods of the node",
        "on the same node",
        PROXY,
        (*DRIVER, "args", 4),
        "--metrics-bind-address=127.0.0.1:9808",
    ),
    put("a program of no image", "its image has no", EMBEDDED, (*BESIDE, "command", 0), r"C:\hpc\sidecars.exe"),
    put(
        "an image without Windows in an ordinary pod", "the other kind", LEGACY, (*BESIDE, "image"), IMAGE
    ),
    put(
        "an image with Windows in a HostProcess pod",
        "the other kind",
        EMBEDDED,
        (*BESIDE, "image"),
        IMAGE + "-nanoserver",
    ),
    put(
        "memory that nobody has measured",
        "its memory is not",
        EMBEDDED,
        (*BESIDE, "resources", "requests", "memory"),
        "1Mi",
    ),
    put("a flag that there is not", "there is no such flag", EMBEDDED, (*BESIDE, "args", 3), "--verbosity=2"),
    put(
        "a flag of the other sidecar",
        "which does not run here",
        SWAPPED,
        (*BESIDE, "args", 3),
        "--probe-timeout=3s",
    ),
    put(
        "a duration that is none",
        "--probe-timeout",
        EMBEDDED,
        (*BESIDE, "args", 5),
        "--probe-timeout=3",
    ),
    put("more than the image", "more than images", SWAPPED, (*BESIDE, "args", 3), "--v=3"),
    put("a container too few", "not 2 containers", BEFORE, (*PROBER, "command", 0), r"C:\hpc\x.exe"),
    put("a stage of another name", "another DaemonSet", NONE, ("metadata", "name"), "example"),
]

# What in sidecars.md is replaced by what.
PAGES = [
    ("```diff\n", "```\n"),
    ("memory: 20Mi", "memory: 21Mi"),
    ("+          image: registry.example", "+          image: registry.test"),
]

"""Mistakes that the checks must notice, each made in the real manifests."""

import dataclasses
from typing import Callable

LEGACY = "legacy-driver.yaml"
EMBEDDED = "embedded-driver.yaml"
OLDER = "embedded-driver-containerd-1.6.yaml"
PROXY = "proxy-daemonset.yaml"
INSTALL = "install-daemonset.yaml"
SIG_WINDOWS = "sig-windows-daemonset.yaml"
OPENSHIFT = "openshift.yaml"


@dataclasses.dataclass
class Mutation:
    name: str
    apply: Callable[[dict], None]
    # What a complaint about it says.
    words: str


def _at(value, path):
    for step in path:
        value = value[step]
    return value


def put(name, words, file, path, value):
    """`value` at the path within the last resource of the file; None takes away what is there."""

    def apply(files):
        *to, last = path
        holder = _at(files[file][-1], to)
        if value is None:
            del holder[last]
        elif isinstance(holder, list) and last == len(holder):
            holder.append(value)
        else:
            holder[last] = value

    return Mutation(name, apply, words)


SPEC = ("spec", "template", "spec")
WINDOWS = (*SPEC, "securityContext", "windowsOptions")
DRIVER = (*SPEC, "containers", 0)
DISK_PIPE = (*SPEC, "volumes", 4, "hostPath")

MUTATIONS = [
    # What the schemas notice.
    put("a misspelt field of the DaemonSet", "updateStategy", PROXY, ("spec", "updateStategy"), {}),
    put("a misspelt field of the pod", "tolerationz", LEGACY, (*SPEC, "tolerationz"), []),
    put("a field in the wrong case", "hostprocess", EMBEDDED, (*WINDOWS, "hostprocess"), True),
    put(
        "a misspelt field of a mount",
        "mountpath",
        LEGACY,
        (*DRIVER, "volumeMounts", 0, "mountpath"),
        "C:\\x",
    ),
    put(
        "a misspelt field of a volume",
        "hostpath",
        LEGACY,
        (*SPEC, "volumes", 1, "hostpath"),
        {"path": "C:\\x"},
    ),
    put(
        "a misspelt field of the CSIDriver",
        "attachrequired",
        "driver.yaml",
        ("spec", "attachrequired"),
        True,
    ),
    put("a field of the wrong type", "hostNetwork", EMBEDDED, (*SPEC, "hostNetwork"), "yes"),
    put(
        "a field that is required",
        "'selector' is a required property",
        EMBEDDED,
        ("spec", "selector"),
        None,
    ),
    put("a kind that there is not", "Couldn't find schema", "driver.yaml", ("kind",), "CSIDiver"),
    put(
        "a version that there is not",
        "Couldn't find schema",
        PROXY,
        ("apiVersion",),
        "apps/v1beta1",
    ),
    # What the rules notice.
    put(
        "Linux nodes",
        "not for Windows nodes alone",
        EMBEDDED,
        (*SPEC, "nodeSelector"),
        {"kubernetes.io/os": "linux"},
    ),
    put("no os", "not for Windows nodes alone", EMBEDDED, (*SPEC, "os"), None),
    put("no priority", "evicted", LEGACY, (*SPEC, "priorityClassName"), None),
    put("no toleration", "tainted", LEGACY, (*SPEC, "tolerations"), None),
    put("update on delete", "updated", PROXY, ("spec", "updateStrategy"), {"type": "OnDelete"}),
    put("an update in a hurry", "does not wait", PROXY, ("spec", "minReadySeconds"), None),
    put("an installation in a hurry", "does not wait", INSTALL, ("spec", "minReadySeconds"), None),
    put(
        "an installation that does not look",
        "does not wait",
        INSTALL,
        (*DRIVER, "readinessProbe"),
        None,
    ),
    put(
        "a parameter of install.ps1 that there is not",
        "knows no -Kubelet",
        INSTALL,
        (*SPEC, "initContainers", 0, "args", 1),
        "-Kubelet",
    ),
    put("an update that does not look", "does not wait", PROXY, (*DRIVER, "readinessProbe"), None),
    put(
        "other labels",
        "selector does not",
        PROXY,
        ("spec", "template", "metadata", "labels"),
        {"app": "x"},
    ),
    put(
        "an unknown account",
        "no such service account",
        PROXY,
        (*SPEC, "serviceAccountName"),
        "nobody",
    ),
    put(
        "a token for the pod",
        "gets a token",
        EMBEDDED,
        (*SPEC, "automountServiceAccountToken"),
        None,
    ),
    Mutation(
        "a token of the account",
        lambda files: files["driver.yaml"][0].update(automountServiceAccountToken=True),
        "hands out tokens",
    ),
    put("any image", "no release", LEGACY, (*DRIVER, "image"), "registry.example:5000/driver"),
    put("the latest image", "no release", LEGACY, (*DRIVER, "image"), "driver:latest"),
    put("no limit of memory", "not bounded", LEGACY, (*DRIVER, "resources", "limits"), None),
    put(
        "a limit below the request",
        "more memory",
        LEGACY,
        (*DRIVER, "resources", "limits", "memory"),
        "39Mi",
    ),
    put(
        "HostProcess without the node's network",
        "has the node's network",
        EMBEDDED,
        (*SPEC, "hostNetwork"),
        None,
    ),
    put(
        "HostProcess without an account", "named account", PROXY, (*WINDOWS, "runAsUserName"), None
    ),
    put(
        "HostProcess with a container that is not",
        "alike",
        EMBEDDED,
        (*DRIVER, "securityContext"),
        {"windowsOptions": {"hostProcess": False}},
    ),
    put(
        "HostProcess with a directory of the node",
        "without mounts",
        EMBEDDED,
        (*SPEC, "volumes", 1),
        {"name": "kubelet-dir", "hostPath": {"path": "C:\\var\\lib\\kubelet"}},
    ),
    put(
        "the node's network without HostProcess",
        "for HostProcess pods",
        LEGACY,
        (*SPEC, "hostNetwork"),
        True,
    ),
    put(
        "two mounts at one path",
        "two mounts",
        LEGACY,
        (*DRIVER, "volumeMounts", 0, "mountPath"),
        "c:\\CSI",
    ),
    put("two volumes of one name", "two volumes", LEGACY, (*SPEC, "volumes", 1, "name"), "config"),
    put(
        "a mount of no volume",
        "volumes and mounts differ: csi-proxy-disk",
        LEGACY,
        (*DRIVER, "volumeMounts", 3, "name"),
        "csi-proxy-volume-v1",
    ),
    put(
        "an unknown ConfigMap",
        "no ConfigMap",
        LEGACY,
        (*SPEC, "volumes", 0, "configMap", "name"),
        "x",
    ),
    put(
        "a pipe that was never released",
        "serves no",
        LEGACY,
        (*DISK_PIPE, "path"),
        r"\\.\pipe\csi-proxy-disk-v2",
    ),
    put(
        "a pipe of a group that is not served",
        "does not serve",
        LEGACY,
        (*DISK_PIPE, "path"),
        r"\\.\pipe\csi-proxy-smb-v1",
    ),
    put("a pipe with a type", "given a type", LEGACY, (*DISK_PIPE, "type"), "File"),
    put(
        "a pipe elsewhere",
        "not where clients look",
        LEGACY,
        (*DRIVER, "volumeMounts", 3, "mountPath"),
        r"\\.\pipe\csi-proxy-disk-v1beta1",
    ),
    put(
        "pipes for nobody",
        "administrators alone",
        LEGACY,
        (*WINDOWS, "runAsUserName"),
        "ContainerUser",
    ),
    put(
        "a flag that there is not",
        "unrecognised option",
        PROXY,
        (*DRIVER, "args", 0),
        "--kubelet=C:\\x",
    ),
    put(
        "a value that is none",
        "not a duration",
        PROXY,
        (*DRIVER, "args", 3),
        "--stop-grace-period=soon",
    ),
    put(
        "a group that there is not",
        "no API group",
        PROXY,
        (*DRIVER, "args", 2),
        "--api-groups=disk,filesystem,volume,x",
    ),
    put(
        "a misspelt variable",
        "clients know no",
        EMBEDDED,
        (*DRIVER, "env", 2, "name"),
        "CSI_PROXY_MODUS",
    ),
    put(
        "pipes in embedded mode",
        "not a mode for this pod",
        LEGACY,
        (*DRIVER, "env", 2, "value"),
        "embedded",
    ),
    put(
        "no such mode", "not a mode for this pod", EMBEDDED, (*DRIVER, "env", 2, "value"), "inline"
    ),
    put(
        "a probe that nobody answers",
        "nobody answers",
        LEGACY,
        (*DRIVER, "ports", 0, "containerPort"),
        9809,
    ),
    put(
        "a probe open to the network",
        "open to the node's network",
        EMBEDDED,
        (*DRIVER, "livenessProbe", "httpGet", "host"),
        None,
    ),
    put(
        "a namespace that refuses the pods",
        "pod security admission",
        "namespace.yaml",
        ("metadata", "labels", "pod-security.kubernetes.io/enforce"),
        "baseline",
    ),
    put("no namespace", "names no namespace", PROXY, ("metadata", "namespace"), None),
    put(
        "an unknown namespace", "no namespace kube", PROXY, ("metadata", "namespace"), "kube-sistem"
    ),
    put(
        "another driver's directory",
        "no CSIDriver",
        OLDER,
        (*DRIVER, "env", 0, "value"),
        r"unix://C:\var\lib\kubelet\plugins\other.csi.k8s.io\csi.sock",
    ),
    put(
        "another name",
        "beside legacy-driver.yaml",
        EMBEDDED,
        ("metadata", "name"),
        "example-csi-node",
    ),
    put(
        "layouts that have drifted",
        "more than paths",
        OLDER,
        (*DRIVER, "resources", "limits", "memory"),
        "255Mi",
    ),
    put(
        "another role",
        "not the constraint",
        OPENSHIFT,
        ("roleRef", "name"),
        "system:openshift:scc:restricted-v2",
    ),
    put("a binding of nobody", "to bind", OPENSHIFT, ("subjects", 0, "name"), "example-csi"),
    put(
        "a binding elsewhere",
        "another namespace",
        OPENSHIFT,
        ("metadata", "namespace"),
        "kube-system",
    ),
    put(
        "a driver without a binding",
        "legacy-driver.yaml: OpenShift refuses",
        LEGACY,
        (*SPEC, "serviceAccountName"),
        "csi-proxy",
    ),
    put(
        "a selector of its own",
        "beside that of sig-windows-tools",
        SIG_WINDOWS,
        ("spec", "selector", "matchLabels"),
        {"app": "csi-proxy"},
    ),
    put(
        "a namespace of its own",
        "beside that of sig-windows-tools",
        SIG_WINDOWS,
        ("metadata", "namespace"),
        "csi-windows",
    ),
    put(
        "fewer groups than before",
        "serves less",
        SIG_WINDOWS,
        (*DRIVER, "args", 1),
        "--api-groups=disk,filesystem,volume",
    ),
    put(
        "fewer versions than before",
        "serves less",
        SIG_WINDOWS,
        (*DRIVER, "args", 1),
        "--api-versions=v1",
    ),
]

NOT_YAML = ["spec:\n  a: 1\n  a: 2\n", "spec: [", "a:\n\tb: 1\n"]

"""Rules that the schemas cannot express. Each rule yields complaints."""

import json
import re

import manifests
import sidecar_rules

PIPE = "\\\\.\\pipe\\"
SANDBOX = "%CONTAINER_SANDBOX_MOUNT_POINT%\\"
DRIVER_FILES = ("legacy-driver.yaml", "embedded-driver.yaml", "embedded-driver-containerd-1.6.yaml")
MIXED = "openshift.yaml"


def nodes(all_):
    for pod in all_.pods():
        spec = pod.resource["spec"]
        selected = pod.spec.get("nodeSelector", {}).get("kubernetes.io/os")
        wanted = "linux" if pod.linux else "windows"
        if selected != wanted or pod.spec.get("os") != {"name": wanted}:
            yield f"{pod.where}: not for {wanted.title()} nodes alone"
        if pod.linux and pod.where != MIXED:
            yield f"{pod.where}: is for Linux nodes"
        if pod.spec.get("priorityClassName") != "system-node-critical":
            yield f"{pod.where}: a node without it has no storage, yet it may be evicted"
        if {"operator": "Exists"} not in pod.spec.get("tolerations", []):
            yield f"{pod.where}: does not run on a tainted node, which keeps its volumes"
        if spec.get("updateStrategy", {}).get("type") != "RollingUpdate":
            yield f"{pod.where}: how it is updated is not said"
        if spec["selector"]["matchLabels"].items() - pod.template["metadata"]["labels"].items():
            yield f"{pod.where}: its selector does not select its pods"


def accounts(all_):
    for pod in all_.workloads():
        if (pod.namespace, pod.spec.get("serviceAccountName")) not in all_.names("ServiceAccount"):
            yield f"{pod.where}: there is no such service account"
        if pod.spec.get("automountServiceAccountToken") is not False:
            yield f"{pod.where}: gets a token that it has no use for"
    for file, account in all_.resources("ServiceAccount"):
        if account.get("automountServiceAccountToken") is not False:
            yield f"{file}: {account['metadata']['name']} hands out tokens"


def _bytes(quantity):
    number, unit = re.fullmatch(r"(\d+)(Mi|Gi)", quantity).groups()
    return int(number) << {"Mi": 20, "Gi": 30}[unit]


def containers(all_):
    for pod in all_.workloads():
        for container in pod.containers:
            where = f"{pod.where}: {container['name']}"
            _, _, tag = container["image"].rpartition("/")[2].partition(":")
            if tag in ("", "latest"):
                yield f"{where}: no release of its image is named"
            resources = container.get("resources", {})
            requests, limits = resources.get("requests", {}), resources.get("limits", {})
            if not {"cpu", "memory"} <= requests.keys() or "memory" not in limits:
                yield f"{where}: its resources are not bounded"
            elif _bytes(requests["memory"]) > _bytes(limits["memory"]):
                yield f"{where}: asks for more memory than it may have"


def _checks_mounted_kubelet(pod):
    """The one pod that mounts on purpose."""
    arguments = [argument for container in pod.containers for argument in container.get("args", [])]
    return "-KubeletMounted" in arguments and SANDBOX + "node-check.ps1" in arguments


def host_process(all_):
    for pod in all_.workloads():
        if not pod.host_process:
            if pod.spec.get("hostNetwork"):
                yield f"{pod.where}: the node's network is for HostProcess pods"
            continue
        if pod.spec.get("hostNetwork") is not True:
            yield f"{pod.where}: a HostProcess pod has the node's network"
        if not pod.windows.get("runAsUserName"):
            yield f"{pod.where}: a HostProcess pod runs as a named account"
        # hcsshim refuses pipes, and a directory of the node mounted over itself hides what is
        # mounted below it later (KEP-1981: "this is not recommended").
        if pod.host_paths() and not _checks_mounted_kubelet(pod):
            yield f"{pod.where}: a HostProcess pod reaches the node's paths as they are, without mounts"
        for container in pod.containers:
            if "windowsOptions" in container.get("securityContext", {}):
                yield f"{pod.where}: {container['name']}: all containers of a HostProcess pod are alike"


def volumes(all_):
    for pod in all_.workloads():
        names = [volume["name"] for volume in pod.volumes]
        mounted = set()
        for container in pod.containers:
            mounts = container.get("volumeMounts", [])
            mounted |= {mount["name"] for mount in mounts}
            paths = [mount["mountPath"].lower() for mount in mounts]
            if len(paths) != len(set(paths)):
                yield f"{pod.where}: {container['name']}: two mounts at one path"
        if len(names) != len(set(names)):
            yield f"{pod.where}: two volumes of one name"
        if mounted != set(names):
            yield f"{pod.where}: volumes and mounts differ: {', '.join(mounted ^ set(names))}"
        for volume in pod.volumes:
            config = volume.get("configMap", {}).get("name")
            if config and (pod.namespace, config) not in all_.names("ConfigMap"):
                yield f"{pod.where}: there is no ConfigMap {config}"


def _proxy_arguments(all_):
    """Container and arguments, wherever the service runs."""
    for pod in all_.pods():
        for container in pod.containers:
            if container.get("command", [""])[0].endswith(r"\csi-proxy.exe"):
                yield pod.where, container.get("args", [])


def rollout(all_):
    for pod in all_.pods():
        for container in pod.containers:
            if not container.get("command", [""])[0].endswith(r"\csi-proxy.exe"):
                continue
            if "readinessProbe" not in container or not pod.resource["spec"].get("minReadySeconds"):
                yield f"{pod.where}: a rolling update does not wait until the pipes answer"


def installs(all_):
    script = (manifests.REPOSITORY / "scripts/bootstrap/install.ps1").read_text(encoding="utf-8")
    known = set(re.findall(r"^  \[\w+\]\$(\w+)", script, re.M))
    for pod in all_.pods():
        for container in pod.containers:
            words = container.get("command", []) + container.get("args", [])
            if SANDBOX + "install.ps1" not in words:
                continue
            for word in words[words.index(SANDBOX + "install.ps1") + 1 :]:
                if word.startswith("-") and word[1:] not in known:
                    yield f"{pod.where}: install.ps1 knows no {word}"
            probed = [c for c in pod.spec["containers"] if "readinessProbe" in c]
            if not probed or not pod.resource["spec"].get("minReadySeconds"):
                yield f"{pod.where}: a rolling update does not wait until the pipes answer"


def node_checks(all_):
    script = (manifests.REPOSITORY / "scripts/node-check.ps1").read_text(encoding="utf-8")
    known = set(re.findall(r"^  (?:\[[^$]*\])?\[\w+(?:\[\])?\]\$(\w+)", script, re.M))
    mounted = []
    for pod in all_.jobs():
        spec = pod.resource["spec"]
        selected = pod.spec.get("nodeSelector", {})
        if selected.get("kubernetes.io/os") != "windows" or pod.spec.get("os") != {"name": "windows"}:
            yield f"{pod.where}: not for Windows nodes alone"
        if "csi-proxy/node-check" not in selected:
            yield f"{pod.where}: runs on a node that nobody chose"
        if spec.get("backoffLimit") != 0 or pod.spec.get("restartPolicy") != "Never":
            yield f"{pod.where}: is run again after a part has failed"
        if not pod.host_process:
            yield f"{pod.where}: sees a container instead of the node"
        for container in pod.containers:
            words = container.get("command", []) + container.get("args", [])
            if SANDBOX + "node-check.ps1" not in words:
                yield f"{pod.where}: runs another script"
                continue
            flags = words[words.index(SANDBOX + "node-check.ps1") + 1 :]
            for word in flags:
                if word.startswith("-") and word[1:] not in known:
                    yield f"{pod.where}: node-check.ps1 knows no {word}"
            if not {"-Print", "-NoRestart"} <= set(flags):
                yield f"{pod.where}: prints no report, or kills the node's service"
            paths = [mount["mountPath"] for mount in container.get("volumeMounts", [])]
            if ("-KubeletMounted" in flags) != (paths == ["C:\\var\\lib\\kubelet"]):
                yield f"{pod.where}: says of the kubelet's directory what is not so"
            mounted.append("-KubeletMounted" in flags)
    if sorted(mounted) != [False, True]:
        yield "node-check.yaml: not one pod without a mount and one with it"


def _groups(arguments):
    given = [a.partition("=")[2] for a in arguments if a.startswith("--api-groups=")]
    return (
        set(given[0].split(","))
        if given
        else {pipe.split("-")[2] for pipe in manifests.served_pipes()}
    )


def pipes(all_):
    offered = [_groups(arguments) for _, arguments in _proxy_arguments(all_)]
    for pod in all_.pods():
        paths = {
            v["name"]: v["hostPath"]
            for v in pod.volumes
            if v.get("hostPath", {}).get("path", "").startswith(PIPE)
        }
        for host_path in paths.values():
            path = host_path["path"]
            if path not in manifests.served_pipes():
                yield f"{pod.where}: csi-proxy serves no {path}"
            elif not all(path.split("-")[2] in groups for groups in offered):
                yield f"{pod.where}: the DaemonSet of csi-proxy does not serve {path}"
            if host_path.get("type") != "":
                yield f"{pod.where}: {path} is given a type, and the kubelet would look for a file"
        for container in pod.containers:
            for mount in container.get("volumeMounts", []):
                if mount["name"] in paths and mount["mountPath"] != paths[mount["name"]]["path"]:
                    yield f"{pod.where}: {mount['mountPath']} is not where clients look for the pipe"
        if paths and pod.windows.get("runAsUserName") != "ContainerAdministrator":
            yield f"{pod.where}: the pipes are open to administrators alone"


def programs(all_):
    for where, arguments in _proxy_arguments(all_):
        if problem := manifests.takes(all_.proxy, arguments):
            yield f"{where}: {problem}"
        served = {pipe.split("-")[2] for pipe in manifests.served_pipes()}
        for group in _groups(arguments) - served:
            yield f"{where}: there is no API group {group}"


def environment(all_):
    known = set(re.findall(r"\bCSI_PROXY_[A-Z_]+", manifests.client_options()))
    for pod in all_.workloads():
        for container in pod.containers:
            for variable in container.get("env", []):
                name, value = variable["name"], variable.get("value")
                if name.startswith("CSI_PROXY_") and name not in known:
                    yield f"{pod.where}: clients know no {name}"
                # A HostProcess pod can call the service too: it opens pipes by name.
                if name == "CSI_PROXY_MODE" and value not in (
                    ("embedded", "auto", "remote")[: 3 if pod.where == MIXED else 2] if pod.host_process else ("remote",)
                ):
                    yield f"{pod.where}: {value} is not a mode for this pod"


# Namespaces that every cluster has. Without labels they have its default level, which is privileged
# (kubernetes.io/docs/tasks/configure-pod-container/enforce-standards-admission-controller).
CLUSTER_WIDE = ("Namespace", "CSIDriver", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
BUILT_IN = {"kube-system": "privileged"}


def namespaces(all_):
    levels = BUILT_IN | {
        r["metadata"]["name"]: r["metadata"]
        .get("labels", {})
        .get("pod-security.kubernetes.io/enforce")
        for _, r in all_.resources("Namespace")
    }
    for file, documents in all_.files.items():
        for resource in documents:
            namespace = resource["metadata"].get("namespace")
            if namespace is None and resource["kind"] not in CLUSTER_WIDE:
                yield f"{file}: {resource['kind']} names no namespace"
            elif namespace not in (None, *levels):
                yield f"{file}: there is no namespace {namespace}"
    for pod in all_.workloads():
        # The level baseline forbids these (kubernetes.io/docs/concepts/security/pod-security-standards).
        needs = pod.host_process or pod.spec.get("hostNetwork") or pod.host_paths()
        if needs and levels.get(pod.namespace) != "privileged":
            yield f"{pod.where}: pod security admission of {pod.namespace} refuses it"


def driver(all_):
    drivers = {r["metadata"]["name"] for _, r in all_.resources("CSIDriver")}
    for pod in all_.pods():
        for name in re.findall(r"plugins\\\\([^\\\"]+)", json.dumps(pod.spec)):
            if name not in drivers:
                yield f"{pod.where}: there is no CSIDriver {name}"


def one_driver_three_ways(all_):
    """Applying one over another is a rolling update, there and back."""
    legacy, embedded, older = map(all_.pod, DRIVER_FILES)
    for pod in (embedded, older):
        if (
            pod.resource["metadata"] != legacy.resource["metadata"]
            or pod.resource["spec"]["selector"] != legacy.resource["spec"]["selector"]
        ):
            yield f"{pod.where}: would run beside legacy-driver.yaml, not in its place"
    moved = json.loads(json.dumps(older.resource))
    for container in moved["spec"]["template"]["spec"]["containers"]:
        container["command"] = [word.replace(SANDBOX, "C:\\hpc\\") for word in container["command"]]
        container["args"] = [word.replace(SANDBOX, "C:\\") for word in container["args"]]
    if moved != embedded.resource:
        yield f"{older.where}: differs from {embedded.where} in more than paths"


def openshift(all_):
    """OpenShift runs these pods only under accounts that are bound to its privileged constraint."""
    allowed = set()
    for file, binding in all_.resources("RoleBinding"):
        if binding["roleRef"]["name"] != "system:openshift:scc:privileged":
            yield f"{file}: {binding['roleRef']['name']} is not the constraint that these pods need"
        for subject in binding["subjects"]:
            account = (subject.get("namespace"), subject["name"])
            if account not in all_.names("ServiceAccount"):
                yield f"{file}: there is no service account {account[1]} to bind"
            if subject.get("namespace") != binding["metadata"]["namespace"]:
                yield f"{file}: binds an account of another namespace"
            allowed.add(account)
    mixed = [pod for pod in all_.pods() if pod.where == MIXED]
    for pod in [*map(all_.pod, DRIVER_FILES), *mixed]:
        if (pod.namespace, pod.spec.get("serviceAccountName")) not in allowed:
            yield f"{pod.where}: OpenShift refuses its pods"
    if [pod.linux for pod in mixed] != [False, True]:
        yield f"{MIXED}: has not one DaemonSet for each system"
        return
    windows, linux = mixed
    embedded = all_.pod("embedded-driver.yaml").resource
    if windows.resource["metadata"] != embedded["metadata"] or windows.resource["spec"]["selector"] != embedded["spec"]["selector"]:
        yield f"{MIXED}: would run beside embedded-driver.yaml, not in its place"
    modes = [v.get("value") for c in windows.containers for v in c.get("env", []) if v["name"] == "CSI_PROXY_MODE"]
    if not windows.host_process or modes != ["remote"]:
        yield f"{MIXED}: is no HostProcess pod that calls csi-proxy"
    # One reference for both systems: that of the sidecars is an index.
    by_name = [{c["name"]: c["image"] for c in pod.spec["containers"]} for pod in mixed]
    if by_name[0] != by_name[1]:
        yield f"{MIXED}: the systems have other images"


def admission(all_):
    """The policy gives each account the groups whose pipes a manifest mounts, and no other."""
    policies = [r for _, r in all_.resources("ValidatingAdmissionPolicy")]
    (expression,) = (v["expression"] for p in policies for v in p["spec"]["variables"] if v["name"] == "allowed")
    given = {
        account: set(re.findall(r"'(\w+)'", groups))
        for account, groups in re.findall(r"'([\w.-]+/[\w.-]+)':\s*\[([^]]*)\]", expression)
    }
    needed = {}
    for pod in all_.pods():
        groups = {p["path"].split("-")[2] for p in pod.host_paths() if p["path"].startswith(PIPE + "csi-proxy-")}
        if groups:
            needed.setdefault(f"{pod.namespace}/{pod.spec['serviceAccountName']}", set()).update(groups)
    if given != needed:
        yield f"admission.yaml: allows {given}, and the manifests mount {needed}"
    for file, namespace in all_.resources("Namespace"):
        labels = namespace["metadata"].get("labels", {})
        level, version = (labels.get(f"pod-security.kubernetes.io/{what}") for what in ("enforce", "enforce-version"))
        if level != "privileged" and not re.fullmatch(r"v1\.\d+", version or ""):
            yield f"{file}: an upgraded cluster may refuse pods of {namespace['metadata']['name']}"


def in_place_of_sig_windows_tools(all_):
    """The names of the other DaemonSet: https://github.com/kubernetes-sigs/sig-windows-tools, hostprocess/csi-proxy."""
    pod = all_.pod("sig-windows-daemonset.yaml")
    metadata, selector = pod.resource["metadata"], pod.resource["spec"]["selector"]
    if (metadata["namespace"], metadata["name"]) != ("kube-system", "csi-proxy") or selector != {
        "matchLabels": {"name": "csi-proxy"}
    }:
        yield f"{pod.where}: would run beside that of sig-windows-tools, not in its place"
    arguments = pod.spec["containers"][0]["args"]
    if _groups(arguments) != {pipe.split("-")[2] for pipe in manifests.served_pipes()} or any(
        argument.startswith("--api-versions") for argument in arguments
    ):
        yield f"{pod.where}: serves less than the one it replaces"


RULES = [
    nodes,
    accounts,
    containers,
    host_process,
    volumes,
    pipes,
    programs,
    rollout,
    installs,
    node_checks,
    environment,
    namespaces,
    driver,
    one_driver_three_ways,
    openshift,
    admission,
    in_place_of_sig_windows_tools,
    *sidecar_rules.RULES,
]


def complaints(all_):
    return [complaint for rule in RULES for complaint in rule(all_)]

"""The manifests of this directory, and what else of the repository they must agree with."""

import dataclasses
import pathlib
import subprocess
import tempfile

import yaml

import sidecars

DIRECTORY = pathlib.Path(__file__).parent
REPOSITORY = DIRECTORY.parent.parent


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice, as `kubectl apply` does; plain YAML takes the last."""


def _mapping(loader, node):
    keys = [key.value for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(
                problem=f"{key!r} stands twice", problem_mark=node.start_mark
            )
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def parse(text):
    return [document for document in yaml.load_all(text, _Loader) if document]


@dataclasses.dataclass
class Pod:
    """The template of a DaemonSet or a Job."""

    where: str
    namespace: str | None
    resource: dict

    @property
    def template(self):
        return self.resource["spec"]["template"]

    @property
    def spec(self):
        return self.template["spec"]

    @property
    def containers(self):
        return self.spec.get("initContainers", []) + self.spec["containers"]

    @property
    def volumes(self):
        return self.spec.get("volumes", [])

    @property
    def windows(self):
        return self.spec.get("securityContext", {}).get("windowsOptions", {})

    @property
    def linux(self):
        return self.spec.get("os") == {"name": "linux"}

    @property
    def host_process(self):
        return bool(self.windows.get("hostProcess"))

    def host_paths(self):
        return [volume["hostPath"] for volume in self.volumes if "hostPath" in volume]


@dataclasses.dataclass
class Manifests:
    """All resources, by file, with the programs whose flags and pipes they name."""

    files: dict
    proxy: str
    sidecars: str

    def resources(self, kind):
        return [
            (file, r)
            for file, documents in self.files.items()
            for r in documents
            if r.get("kind") == kind
        ]

    def names(self, kind):
        """Namespace and name of each resource of a kind."""
        return {
            (r["metadata"].get("namespace"), r["metadata"]["name"]) for _, r in self.resources(kind)
        }

    def pods(self):
        return [
            Pod(file, r["metadata"].get("namespace"), r) for file, r in self.resources("DaemonSet")
        ]

    def jobs(self):
        return [Pod(file, r["metadata"].get("namespace"), r) for file, r in self.resources("Job")]

    def workloads(self):
        return self.pods() + self.jobs()

    def pod(self, file):
        return next(pod for pod in self.pods() if pod.where == file)


def staged():
    """The page with the stages of one driver, and the manifest that it changes."""
    return [(DIRECTORY / name).read_text() for name in ("sidecars.md", sidecars.WHOLE)]


def load(proxy, beside):
    files = {file.name: parse(file.read_text()) for file in sorted(DIRECTORY.glob("*.yaml"))}
    for name, text in sidecars.steps(*staged()).items():
        files[sidecars.step(name)] = parse(text)
    return Manifests(files, proxy, beside)


def served_pipes():
    """Every pipe there is: one for each version of each group."""
    return {
        rf"\\.\pipe\csi-proxy-{proto.parent.parent.name}-{proto.parent.name}"
        for proto in REPOSITORY.glob("api/*/*/api.proto")
    }


def client_options():
    return (REPOSITORY / "client/include/csi_proxy/connection.h").read_text()


def takes(proxy, arguments):
    """Returns the program's complaint about a command line; empty when it takes the line."""
    run = subprocess.run(
        [proxy, *arguments, "--help"], capture_output=True, text=True, timeout=60, check=False
    )
    return "" if run.returncode == 0 else run.stderr.splitlines()[0]


def takes_as(sidecars, name, arguments):
    """The same of csi-node-sidecars, called by this name."""
    with tempfile.TemporaryDirectory() as directory:
        link = pathlib.Path(directory) / name
        link.symlink_to(pathlib.Path(sidecars).resolve())
        return takes(link, arguments)

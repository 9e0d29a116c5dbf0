#!/usr/bin/env python3
"""Makes the images, as an OCI image layout and a tar of it.

    oci_image.py --programs DIR --linux FILE --out DIR --version V --source-date-epoch N [--license FILE ...]

The programs are csi-proxy.exe, csi-proxyctl.exe, csi-proxy-service.exe, csi-node-sidecars.exe and
csi_proxy.dll; other files of their folder are left out. FILE is csi-node-sidecars for Linux. Licences go into
the image's folder `licenses`. The images depend only on these files, on install.ps1, on node-check.ps1 and
its folder, on the options, and on Debian's packages of the libraries that FILE needs.

Two tags:

  VERSION             the service, which proxy-daemonset.yaml runs and install-daemonset.yaml installs, and csi_proxy.dll:
                      drivers that embed csi-proxy are built FROM this
  VERSION-sidecars    csi-node-sidecars, for the containers beside a driver: an index of an image for Linux and one
                      for Windows, so that one reference serves every node

The images for Windows run on every build of Windows, but only as HostProcess containers, like Microsoft's
(https://github.com/microsoft/windows-host-process-containers-base-image). Their first layer becomes hcsshim's
base layer, for which Windows requires five registry hives, and from Server 2025 on valid ones.
"""

import argparse
import datetime
import gzip
import hashlib
import io
import json
import pathlib
import shutil
import tarfile

import empty_hive
import linux_layer
import windows_layer

HIVES = ("DEFAULT", "SAM", "SECURITY", "SOFTWARE", "SYSTEM")
LIBRARY = ("csi_proxy.dll",)
PROGRAMS = ("csi-proxy.exe", "csi-proxyctl.exe", "csi-proxy-service.exe")
# One program under several names; all but the first are hard links. Under the name of one of the two sidecars
# it takes only that sidecar's flags; csi-sidecars is KEP-4958's name for a program of all sidecars.
SIDECARS = ("csi-node-sidecars.exe", "csi-node-driver-registrar.exe", "csi-sidecars.exe", "livenessprobe.exe")
REPOSITORY = pathlib.Path(__file__).parents[2]
INSTALL = REPOSITORY / "service_installer/windows/bootstrap/install.ps1"
NODE_CHECK = REPOSITORY / "service_installer/windows/node-check.ps1"
DOUBTS = REPOSITORY / "server/host/doubts.md"
TITLE = "org.opencontainers.image."
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
# No os.version, because the images run on every build of Windows. containerd takes such an image from an index
# since February 2023 (https://github.com/containerd/containerd/pull/8101).
WINDOWS = {"architecture": "amd64", "os": "windows"}
LINUX = {"architecture": "amd64", "os": "linux"}
# On Windows the node's own PATH, in which a HostProcess container finds cmd.exe and PowerShell.
PATH = {"windows": r"C:\Windows\system32;C:\Windows;C:\Windows\System32\WindowsPowerShell\v1.0", "linux": "/"}


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


class Layout:
    """The blobs of https://github.com/opencontainers/image-spec/blob/main/image-layout.md."""

    def __init__(self, out):
        self.blobs = out / "blobs" / "sha256"
        self.blobs.mkdir(parents=True)

    def add(self, content, media_type, **more):
        name = digest(content)
        (self.blobs / name.partition(":")[2]).write_bytes(content)
        return {"mediaType": media_type, "digest": name, "size": len(content), **more}

    def add_json(self, content, media_type, **more):
        return self.add(json.dumps(content, sort_keys=True).encode(), media_type, **more)


def compressed(tar):
    """Returns a gzip of the tar without the time and the name that gzip usually writes."""
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=9, mtime=0) as stream:
        stream.write(tar)
    return out.getvalue()


def image(layout, layers, settings, labels, created, platform=WINDOWS):
    """Adds an image of `layers`, each a pair: how the layer was made, and its tar."""
    descriptors = [layout.add(compressed(tar), LAYER) for _, tar in layers]
    config = layout.add_json(
        {
            **platform,
            "created": created,
            "config": {"Env": ["PATH=" + PATH[platform["os"]]], "Labels": labels, **settings},
            "rootfs": {"type": "layers", "diff_ids": [digest(tar) for _, tar in layers]},
            "history": [{"created": created, "created_by": how} for how, _ in layers],
        },
        CONFIG,
    )
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config,
        "layers": descriptors,
        "annotations": labels,
    }
    return layout.add_json(manifest, MANIFEST, platform=platform)


def index_of(layout, images, labels):
    """Adds an index, from which each node takes the image of its platform."""
    content = {"schemaVersion": 2, "mediaType": INDEX, "manifests": images, "annotations": labels}
    return layout.add_json(content, INDEX)


def tagged(descriptor, ref):
    return {**descriptor, "annotations": {TITLE + "ref.name": ref}}


def archive(directory, path, epoch):
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for file in sorted(directory.rglob("*"), key=lambda one: one.as_posix()):
            entry = tar.gettarinfo(file, file.relative_to(directory).as_posix())
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime, entry.mode = epoch, 0o755 if file.is_dir() else 0o644
            with file.open("rb") if file.is_file() else io.BytesIO() as content:
                tar.addfile(entry, content if file.is_file() else None)


def parsed():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument("--linux", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        required=True,
        metavar="DIR",
        help="gets csi-proxy-VERSION-oci, a folder, and the same as .tar",
    )
    parser.add_argument("--version", required=True)
    parser.add_argument("--source-date-epoch", type=int, required=True, metavar="SECONDS")
    parser.add_argument(
        "--license", type=pathlib.Path, action="append", default=[], metavar="FILE", dest="licenses"
    )
    options = parser.parse_args()
    if len({path.name for path in options.licenses}) != len(options.licenses):
        parser.error("two licences have one name")
    return options


def main():
    options = parsed()
    epoch, version = options.source_date_epoch, options.version
    out = options.out / f"csi-proxy-{version}-oci"
    if out.exists():
        shutil.rmtree(out)
    layout = Layout(out)

    def read(names):
        return {name: (options.programs / name).read_bytes() for name in names}

    licenses = {f"licenses/{path.name}": path.read_bytes() for path in options.licenses}
    hives = {f"Windows/System32/config/{name}": empty_hive.hive(name, epoch) for name in HIVES}
    service = read(PROGRAMS) | {path.name: path.read_bytes() for path in (INSTALL, NODE_CHECK)}
    for path in NODE_CHECK.with_suffix("").iterdir():
        service[f"node-check/{path.name}"] = path.read_bytes()
    service["node-check/doubts.md"] = DOUBTS.read_bytes()
    base = [
        ("the registry hives of a base layer", windows_layer.layer(hives, epoch)),
        ("csi_proxy.dll", windows_layer.layer(read(LIBRARY) | licenses, epoch, ["Hives"])),
    ]
    programs = ("the service", windows_layer.layer(service, epoch, ["Hives"]))
    links = {name: SIDECARS[0] for name in SIDECARS[1:]}
    sidecars = read(SIDECARS[:1]) | licenses
    beside = ("the sidecars", windows_layer.layer(sidecars, epoch, ["Hives"], links))

    moment = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    created = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {
        TITLE + "version": version,
        TITLE + "created": created,
        TITLE + "licenses": "Apache-2.0",
    }

    debian, packages = linux_layer.libraries(options.linux)
    names = [name.removesuffix(".exe") for name in SIDECARS]
    linux = [
        (
            "Debian's " + ", ".join(f"{name} {version}" for name, version in sorted(packages.items())),
            linux_layer.layer(debian, epoch),
        ),
        (
            "the sidecars",
            linux_layer.layer(
                {names[0]: options.linux.read_bytes()} | licenses, epoch, names, {name: names[0] for name in names[1:]}
            ),
        ),
    ]

    def runs(program):
        return {"Entrypoint": [f"%CONTAINER_SANDBOX_MOUNT_POINT%\\{program}"]}

    def made(layers, settings, platform=WINDOWS):
        return image(layout, layers, settings, labels, created, platform)

    beside_images = [
        made(linux, {"Entrypoint": ["/" + names[0]]}, LINUX),
        made([base[0], beside], runs(SIDECARS[0])),
    ]
    index = {
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [
            tagged(made([*base, programs], runs(PROGRAMS[0])), version),
            tagged(index_of(layout, beside_images, labels), version + "-sidecars"),
        ],
    }
    (out / "oci-layout").write_text(json.dumps({"imageLayoutVersion": "1.0.0"}))
    (out / "index.json").write_text(json.dumps(index, sort_keys=True))
    archive(out, options.out / f"{out.name}.tar", epoch)
    for manifest in index["manifests"]:
        print(manifest["annotations"][TITLE + "ref.name"], manifest["digest"])


if __name__ == "__main__":
    main()

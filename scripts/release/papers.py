#!/usr/bin/env python3
"""papers.py VERSION DIST PARTS: writes an SPDX list of the contents of a release's files, OpenVEX
statements on the advisories of the linked libraries, and the release notes.

DIST contains the release's files; PARTS the files from which scripts/release.sh made them.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

import linux_layer
import sbom

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def run(*command, cwd=ROOT):
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


def digest(path, algorithm="sha256"):
    return hashlib.new(algorithm, path.read_bytes()).hexdigest()


class Release:
    """The facts about a release whose files exist."""

    def __init__(self, version, dist, parts):
        self.version = version
        self.dist = pathlib.Path(dist)
        self.parts = pathlib.Path(parts)
        self.epoch = int(os.environ["SOURCE_DATE_EPOCH"])
        self.commit = run("git", "rev-parse", "HEAD").strip()
        self.repository = re.search(r"^project\(.* HOMEPAGE_URL (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
        self.components = json.loads((HERE / "components.json").read_text())
        self.zip_name = f"csi-proxy-{version}-windows-amd64"
        self.zip_root = self.parts / self.zip_name
        # (name, version, archive, sha256) of what is linked into the Windows programs, and built for that.
        self.sources = [line.split() for line in run("scripts/build-windows-deps.sh", "--sources").splitlines()]
        self.tag, self.module, self.module_version = (self.parts / "tag").read_text().split()
        self.test_tag, self.test_module, _ = (self.parts / "test_tag").read_text().split()
        # The one program for Linux in an image, and Debian's packages in that image.
        self.linux_program = self.parts / "linux/bin/csi-node-sidecars"
        self.image_packages = linux_layer.libraries(self.linux_program)[1]
        self.signed = bool(os.environ.get("CSI_PROXY_SIGN"))

    @staticmethod
    def debian_version(package):
        return run("dpkg-query", "--show", "--showformat=${Version}", package)


def notes(release):
    """Returns the changelog's section of the version, or what is unreleased, and how to use the files."""
    text = (ROOT / "CHANGELOG.md").read_text()
    sections = re.split(r"^## (?=\[)", text, flags=re.M)[1:]
    of = {re.match(r"\[([^\]]+)\]", section)[1]: section.split("\n", 1)[1].strip() for section in sections}
    body = of.get(release.version) or of.get("Unreleased")
    if not body:
        sys.exit(f"CHANGELOG.md has neither a section [{release.version}] nor anything unreleased")
    return f"""# CSI Proxy {release.version}

{body}

## Files

`sha256sum --check SHA256SUMS` compares all of them. The programs for Windows are {"signed" if release.signed else "not signed"}.

| file | for |
|---|---|
| `{release.zip_name}.zip` | Windows nodes: programs, C library, bootstrap scripts, the check of a node, licences |
| `{release.zip_name}-testing.zip` | tests of drivers on Windows: the service and the C library with a simulated node |
| `csi-proxy-v{release.version}.tar.gz` | agents that install `csi-proxy.exe` alone, such as Rancher's |
| `csi-proxy-{release.version}-oci.tar` | the images, as an OCI image layout: `{release.version}` for HostProcess containers, `{release.version}-sidecars` for those and for Linux |
| `*.deb` | Debian 12: the service with a simulated node, the sidecars of drivers, the libraries, what is built against them |
| `go/` | a module proxy in files |
| `csi-proxy-{release.version}.spdx.json` | what is linked into what, in SPDX 2.3 |
| `csi-proxy-{release.version}.openvex.json` | whether advisories of the linked libraries affect the Windows programs, in OpenVEX 0.2.0 |

## Go

The tag `{release.tag}` of commit {release.commit} is the module `{release.module}` {release.module_version}. It takes the
place of the Go library `csi-proxy/v2`, in a driver's `go.mod`, also where a driver does not have the library yet:

    replace github.com/kubernetes-csi/csi-proxy/v2 => {release.module} {release.module_version}

The tag `{release.test_tag}` is the module `{release.test_module}`, for a driver's tests. It has its own name, so
that drivers require it without a `replace` line.

From the files of this release, before the tags are published, or without a network:

    GOPROXY="file://$PWD/go,$(go env GOPROXY)" GONOSUMDB={release.module.rsplit("/", 3)[0]}/* go mod tidy
"""


# OpenVEX's fields for an advisory, by the first words of its cell in SECURITY.md.
VEX_STATUS = {
    "Does not apply": {"status": "not_affected"},
    "Fixed in": {"status": "fixed"},
    "Stopped": {"status": "not_affected", "justification": "inline_mitigations_already_exist"},
}


def vex(release):
    """Returns OpenVEX 0.2.0 (github.com/openvex/spec) for the Windows programs, from SECURITY.md's table and list of advisories."""
    statements = []
    page = (ROOT / "SECURITY.md").read_text()
    rows = re.findall(r"^\| (CVE-[^|]*) \| ([^|]*) \|$", page, re.M)
    for reason, advisories in re.findall(r"^- (because [^:]*): (CVE-.*(?:\n  .*)*)", page, re.M):
        rows.append((advisories, f"Does not apply {reason}"))
    for advisories, here in rows:
        [status] = [status for begin, status in VEX_STATUS.items() if here.startswith(begin)]
        notes = "status_notes" if status["status"] == "fixed" else "impact_statement"
        statements += [{"vulnerability": {"name": name}, "products": [{"@id": f"pkg:generic/csi-proxy@{release.version}"}],
                        notes: re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", here)} | status
                       for name in re.findall(r"CVE-\d+-\d+", advisories)]
    when = datetime.datetime.fromtimestamp(release.epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"@context": "https://openvex.dev/ns/v0.2.0", "@id": f"{release.repository}/vex/{release.version}/{release.commit}",
            "author": release.repository, "timestamp": when, "version": 1, "statements": statements}


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n")


def main(version, dist, parts):
    release = Release(version, dist, parts)
    # Each document lists the files that exist, and so the documents that were written before it.
    (release.dist / "RELEASE_NOTES.md").write_text(notes(release))
    write_json(release.dist / f"csi-proxy-{version}.spdx.json", sbom.document(release, digest))
    write_json(release.dist / f"csi-proxy-{version}.openvex.json", vex(release))


if __name__ == "__main__":
    main(*sys.argv[1:])

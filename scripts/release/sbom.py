"""Lists the contents of a release's files, in SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/): the libraries
linked into the programs for Windows, Debian's packages in the image for Linux, and the needs of the Debian packages and
the Go module."""
import datetime
import re
import subprocess


def spdx_id(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words))


class Document:
    def __init__(self, release):
        self.release = release
        self.packages = []
        self.relationships = []

    def relate(self, one, kind, other):
        self.relationships.append({"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other})

    def package(self, kind, name, version, license_id, **more):
        identifier = spdx_id(kind, name)
        if all(package["SPDXID"] != identifier for package in self.packages):
            self.packages.append({
                "SPDXID": identifier, "name": name, "versionInfo": version, "licenseConcluded": license_id,
                "licenseDeclared": license_id, "copyrightText": "NOASSERTION", "downloadLocation": "NOASSERTION",
                "filesAnalyzed": False, **more})
        return identifier

    def shipped(self, name, path, digest, **more):
        """Adds a file of the release, which the document describes."""
        identifier = self.package("release", name, self.release.version, "Apache-2.0", packageFileName=path.name,
                                  checksums=[{"algorithm": "SHA256", "checksumValue": digest(path)}],
                                  supplier="Organization: CSI Proxy maintainers", **more)
        self.relate("SPDXRef-DOCUMENT", "DESCRIBES", identifier)
        return identifier


def purl(text):
    return [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": text}]


def linked_libraries(document):
    """Adds the libraries in the programs for Windows; each has its licence's text in the ZIP."""
    components, release = document.release.components, document.release
    identifiers = {}

    def add(name, version, known, **more):
        if not (release.zip_root / "licenses" / known["text"]).is_file():
            raise SystemExit(f"the ZIP has no licenses/{known['text']}, the licence of {name}")
        identifiers[name] = document.package("library", name, version, known["license"],
                                             comment=f"licence: licenses/{known['text']}",
                                             **({"homepage": known["home"]} if "home" in known else {}), **more)

    versions = {}
    for name, version, archive, sha256 in release.sources:
        # Fails for a library that components.json does not describe.
        known = components["built"][name]
        versions[name] = version
        if not known.get("test"):
            add(name, version, known, packageFileName=archive, externalRefs=purl(f"pkg:generic/{name}@{version}"),
                checksums=[{"algorithm": "SHA256", "checksumValue": sha256}])
    for name, known in components["bundled"].items():
        add(name, f"of {known['in']} {versions[known['in']]}", known)
        document.relate(identifiers[known["in"]], "CONTAINS", identifiers[name])
    for name, known in components["debian"].items():
        version = release.debian_version(name)
        add(name, version, known, externalRefs=purl(f"pkg:deb/debian/{name}@{version}"))
    return identifiers.values()


def windows(document, digest):
    release = document.release
    archive = release.dist / f"{release.zip_name}.zip"
    package = document.shipped("csi-proxy for Windows", archive, digest)
    images = document.shipped("csi-proxy images", release.dist / f"csi-proxy-{release.version}-oci.tar", digest)
    agents = document.shipped("csi-proxy for node agents", release.dist / f"csi-proxy-v{release.version}.tar.gz", digest)
    for path in sorted((release.zip_root / "bin").iterdir()):
        program = document.package("program", path.name, release.version, "Apache-2.0",
                                   packageFileName=f"./{release.zip_name}/bin/{path.name}",
                                   checksums=[{"algorithm": "SHA256", "checksumValue": digest(path)}])
        document.relate(package, "CONTAINS", program)
        document.relate(images, "CONTAINS", program)
        if path.name == "csi-proxy.exe":
            document.relate(agents, "CONTAINS", program)
    program = document.package("linux", release.linux_program.name, release.version, "Apache-2.0",
                               checksums=[{"algorithm": "SHA256", "checksumValue": digest(release.linux_program)}])
    document.relate(images, "CONTAINS", program)
    for name, version in sorted(release.image_packages.items()):
        library = document.package("image", name, version, "NOASSERTION", externalRefs=purl(f"pkg:deb/debian/{name}@{version}"))
        document.relate(images, "CONTAINS", library)
        document.relate(program, "DYNAMIC_LINK", library)
    testing = document.shipped("csi-proxy for tests on Windows", release.dist / f"{release.zip_name}-testing.zip", digest)
    for library in linked_libraries(document):
        document.relate(package, "STATIC_LINK", library)
        document.relate(testing, "STATIC_LINK", library)
        document.relate(images, "STATIC_LINK", library)
        document.relate(agents, "STATIC_LINK", library)


def debian(document, digest):
    for path in sorted(document.release.dist.glob("*.deb")):
        def field(name, path=path):
            return subprocess.run(["dpkg-deb", "--field", path, name], check=True, capture_output=True, text=True).stdout.strip()
        name = field("Package")
        package = document.shipped(name, path, digest, externalRefs=purl(f"pkg:deb/{name}@{document.release.version}?arch=amd64"))
        for need in filter(None, re.split(r",\s*", field("Depends"))):
            other = need.split()[0]
            if other in ("csi-proxy", "libcsi-proxy-dev") or other.startswith("libcsi-proxy"):
                document.relate(package, "DEPENDS_ON", spdx_id("release", other))
                continue
            needed = document.package("debian", other, need.partition(" ")[2].strip("()") or "any", "NOASSERTION",
                                      externalRefs=purl(f"pkg:deb/debian/{other}"))
            document.relate(package, "DEPENDS_ON" if other.endswith("-dev") else "DYNAMIC_LINK", needed)


def go(document, digest):
    module, version = document.release.module, document.release.module_version
    directory = document.release.dist / "go" / module / "@v"
    package = document.shipped(module, directory / f"{version}.zip", digest, versionInfo=version,
                               externalRefs=purl(f"pkg:golang/{module}@{version}"))
    for name, number in re.findall(r"^(?:require )?\t?([\w./-]+\.[\w./-]+) (v\S+)", (directory / f"{version}.mod").read_text(), re.M):
        needed = document.package("go", f"{name}@{number}", number, "NOASSERTION", externalRefs=purl(f"pkg:golang/{name}@{number}"))
        document.relate(package, "DEPENDS_ON", needed)


def document(release, digest):
    made = Document(release)
    windows(made, digest)
    debian(made, digest)
    go(made, digest)
    created = datetime.datetime.fromtimestamp(release.epoch, datetime.timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"csi-proxy-{release.version}",
        "documentNamespace": f"{release.repository}/spdx/csi-proxy-{release.version}-{release.commit}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Organization: CSI Proxy maintainers", "Tool: scripts/release.sh"]},
        "packages": made.packages, "relationships": made.relationships,
    }

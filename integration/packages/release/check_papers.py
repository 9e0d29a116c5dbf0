"""check_papers.py VERSION COMMIT DIST: the SPDX list and the statement of provenance, read by others'
code, and compared with the files and with what is linked in."""
import hashlib
import json
import pathlib
import subprocess
import sys
import tarfile
import zipfile

from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from spdx_tools.spdx.model import RelationshipType
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

ROOT = pathlib.Path(__file__).resolve().parents[3]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def image_packages(version, dist):
    """Name and version of Debian's packages, as the image for Linux itself lists them."""
    with tarfile.open(dist / f"csi-proxy-{version}-oci.tar") as images:
        for blob in images:
            if not blob.name.startswith("blobs/") or not blob.isfile() or images.extractfile(blob).read(2) != b"\x1f\x8b":
                continue
            with tarfile.open(fileobj=images.extractfile(blob), mode="r:gz") as layer:
                for entry in layer:
                    if entry.name.startswith("var/lib/dpkg/status.d/") and entry.isfile():
                        fields = dict(line.split(": ", 1) for line in layer.extractfile(entry).read().decode().splitlines() if ": " in line[:20])
                        yield fields["Package"], fields["Version"]


def spdx_problems(version, dist):
    document = parse_file(str(dist / f"csi-proxy-{version}.spdx.json"))
    for message in validate_full_spdx_document(document):
        yield message.validation_message
    packages = {package.spdx_id: package for package in document.packages}

    # Everything that is built for the programs is listed with its version, and linked into them.
    linked = {packages[one.related_spdx_element_id].name: packages[one.related_spdx_element_id]
              for one in document.relationships if one.relationship_type == RelationshipType.STATIC_LINK}
    sources = subprocess.run([ROOT / "scripts/build-windows-deps.sh", "--sources"], check=True, capture_output=True, text=True)
    for name, number, _, hash_of_source in map(str.split, sources.stdout.splitlines()):
        if name == "googletest":
            if name in linked:
                yield "googletest is not linked into what is released"
        elif name not in linked or linked[name].version != number:
            yield f"{name} {number} is linked into the programs, and not listed"
        elif linked[name].checksums[0].value != hash_of_source:
            yield f"{name} is listed with another source's hash"

    images = next(package.spdx_id for package in document.packages if package.file_name == f"csi-proxy-{version}-oci.tar")
    contained = {(packages[one.related_spdx_element_id].name, packages[one.related_spdx_element_id].version)
                 for one in document.relationships
                 if one.spdx_element_id == images and one.relationship_type == RelationshipType.CONTAINS}
    there = set(image_packages(version, dist))
    if len(there) < 6 or not there <= contained:
        yield f"the image for Linux has {sorted(there)}, and not all is listed"

    # The files are those that are there; each licence that is named lies in the ZIP.
    root = f"csi-proxy-{version}-windows-amd64"
    with zipfile.ZipFile(dist / f"{root}.zip") as opened:
        names = opened.namelist()
        for package in document.packages:
            if package.comment and f"{root}/{package.comment.removeprefix('licence: ')}" not in names:
                yield f"{package.name}: the ZIP lacks its {package.comment}"
            if package.spdx_id.startswith("SPDXRef-program-"):
                if package.checksums[0].value != sha256(opened.read(package.file_name.removeprefix("./"))):
                    yield f"{package.file_name} is listed with another hash"
    described = {packages[one.related_spdx_element_id].file_name for one in document.relationships
                 if one.relationship_type == RelationshipType.DESCRIBES}
    for path in [*dist.glob("*.zip"), *dist.glob("*.tar"), *dist.glob("*.tar.gz"), *dist.glob("*.deb")]:
        if path.name not in described:
            yield f"{path.name} is not described"
    for path in (dist / "go").rglob("*.zip"):
        module = path.relative_to(dist / "go").parent.parent.as_posix()
        if (module, path.stem) not in {(package.name, package.version) for package in document.packages}:
            yield f"{module} {path.stem} is not described"


def provenance_problems(version, commit, dist):
    name = f"csi-proxy-{version}.provenance.json"
    read = json.loads((dist / name).read_text())
    # Fields that in-toto or SLSA do not know end the check.
    statement = json_format.ParseDict(read, statement_pb2.Statement())
    provenance = json_format.ParseDict(read["predicate"], provenance_pb2.Provenance())
    Statement.copy_from_pb(statement).validate()
    if statement.predicate_type != "https://slsa.dev/provenance/v1":
        yield f"the predicate is {statement.predicate_type}"
    subjects = {subject.name: subject.digest["sha256"] for subject in statement.subject}
    there = {path.relative_to(dist).as_posix(): sha256(path.read_bytes()) for path in dist.rglob("*")
             if path.is_file() and path.name not in (name, "SHA256SUMS")}
    if subjects != there:
        yield f"the statement is of {subjects}, and the files are {there}"
    commits = {one.digest["gitCommit"] for one in provenance.build_definition.resolved_dependencies if "gitCommit" in one.digest}
    if commits != {commit}:
        yield f"it is of {commits}, not of {commit}"
    if not provenance.run_details.builder.id:
        yield "nobody has built it"


def main(version, commit, dist):
    dist = pathlib.Path(dist)
    found = [*spdx_problems(version, dist), *provenance_problems(version, commit, dist)]
    print("\n".join(found) or "SPDX list and provenance are valid and complete")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

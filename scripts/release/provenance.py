"""A statement of provenance: in-toto's (https://in-toto.io/Statement/v1), with SLSA's predicate
(https://slsa.dev/spec/v1.0/provenance). Times and machines are left out: they would differ between two
runs whose files are equal."""
import os


def statement(release, digest, run):
    packages = sorted({*release.components["tools"], *release.components["libraries for Linux"],
                       *release.components["debian"], *release.image_packages})
    materials = [{"uri": f"git+{release.repository}@{release.commit}", "digest": {"gitCommit": release.commit}}]
    materials += [{"name": archive, "uri": f"pkg:generic/{name}@{version}", "digest": {"sha256": sha256}}
                  for name, version, archive, sha256 in release.sources]
    materials += [{"uri": f"pkg:deb/debian/{name}@{release.debian_version(name)}"} for name in packages]
    materials.append({"uri": f"pkg:generic/go@{run('go', 'env', 'GOVERSION').strip().removeprefix('go')}"})
    details = {"builder": {"id": os.environ.get("CSI_PROXY_BUILDER_ID", f"{release.repository}/scripts/release.sh")}}
    if release.signed:
        # A run without the certificate compares with these (unsigned.py).
        details["byproducts"] = [{"name": f"{name}, unsigned", "digest": {"sha256": sha256}}
                                 for sha256, name in release.unsigned]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.relative_to(release.dist).as_posix(), "digest": {"sha256": digest(path)}}
                    for path in release.files()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{release.repository}/tree/main/scripts/release",
                "externalParameters": {"version": release.version, "repository": release.repository,
                                       "commit": release.commit, "signed": release.signed},
                "internalParameters": {"SOURCE_DATE_EPOCH": release.epoch},
                "resolvedDependencies": materials,
            },
            "runDetails": details,
        },
    }

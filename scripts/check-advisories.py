#!/usr/bin/env python3
"""Compares the versions of the libraries that the programs link with the versions in SECURITY.md, whose
advisories have been read. For a new version or library, read the advisories since the last version, update
the tables of SECURITY.md, and enter the new version there.

On Windows the versions are those of scripts/build-windows-deps.sh, on Linux those of this machine's packages.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADING = "## Advisories of what is linked"


def looked_at(text):
    """Returns {library: (version, [Debian packages])} from SECURITY.md's table."""
    section = text.partition(f"\n{HEADING}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z0-9+-]+) \| ([\d.]+) \| ([^|]*) \|$", section, re.MULTILINE)
    return {library: (version, packages.split(", ")) for library, version, packages in rows}


def upstream(version):
    """Returns the library's own part of Debian's `1:1.2.13.dfsg-1`."""
    return re.match(r"(?:\d+:)?(\d[\d.]*)", version)[1].rstrip(".")


def built():
    """Yields (library, version) of each library built for Windows, except those that only tests link."""
    script = ROOT / "scripts/build-windows-deps.sh"
    said = subprocess.run([script, "--sources"], check=True, capture_output=True, text=True).stdout
    components = json.loads((ROOT / "scripts/release/components.json").read_text())["built"]
    for line in said.splitlines():
        library, version = line.split()[:2]
        if not components.get(library, {}).get("test"):
            yield library, version


def installed(package):
    """Returns the version of a package, or None if it is not installed on this machine."""
    try:
        asked = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package],
                               capture_output=True, text=True)
    except FileNotFoundError:
        return None
    status, _, version = asked.stdout.partition(" ")
    return upstream(version) if status == "installed" else None


def problems(known, sources, version_of):
    if not known:
        yield f"SECURITY.md has no table below \"{HEADING}\""
    for library, version in sources:
        if library not in known:
            yield f"build-windows-deps.sh builds {library} {version}, of which SECURITY.md says nothing"
        elif known[library][0] != version:
            yield f"build-windows-deps.sh builds {library} {version}; SECURITY.md has been through {known[library][0]}"
    for library, (version, packages) in known.items():
        for package in packages:
            found = version_of(package)
            if found not in (None, version):
                yield f"this machine's {package} is {library} {found}; SECURITY.md has been through {version}"


def main():
    found = list(problems(looked_at((ROOT / "SECURITY.md").read_text()), built(), installed))
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

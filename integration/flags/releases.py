#!/usr/bin/env python3
"""Compares the table of the Go releases' flags in server/README.md with upstream's sources.

    git clone https://github.com/kubernetes-csi/csi-proxy FOLDER
    integration/flags/releases.py FOLDER

Reads main.go and go.mod at each release's tag and on the main branch, and klog, as a Go module, in the version that
go.mod names. Prints what is wrong, and exits with 1 then.
"""
import json
import re
import subprocess
import sys
from pathlib import Path


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def flags_of_klog(module, version, known={}):
    if (module, version) not in known:
        folder = json.loads(output("go", "mod", "download", "-json", f"{module}@{version}"))["Dir"]
        source = (Path(folder) / "klog.go").read_text()
        known[module, version] = set(re.findall(r'(?:flagset|commandLine)\.\w*Var\([^,]+, "(\w+)"', source))
    return known[module, version]


def flags_of(repository, release):
    main = output("git", "-C", repository, "show", f"{release}:cmd/csi-proxy/main.go")
    required = output("git", "-C", repository, "show", f"{release}:go.mod")
    module = re.search(r'"(k8s\.io/klog(?:/v2)?)"', main)[1]
    version = re.search(rf"{module} (v\S+)", required)[1]
    own = set(re.findall(r'flag\.\w+\((?:&\w+, )?"([\w-]+)"', main))
    return own | flags_of_klog(module, version)


repository = sys.argv[1]
tags = [tag for tag in output("git", "-C", repository, "tag").split() if re.fullmatch(r"v[01]\.\d+\.\d+", tag)]
tags.sort(key=lambda tag: [int(part) for part in tag[1:].split(".")])
releases = {}
for release in [*tags, "HEAD"]:
    for flag in flags_of(repository, release):
        releases.setdefault(flag, []).append(release)
expected = {}
for flag, taking in releases.items():
    first, last = taking[0], taking[-1]
    expected[flag] = f"after {tags[-1]}" if first == "HEAD" else f"from {first}" if last == "HEAD" else f"{first} to {last}"

page = (Path(__file__).parents[2] / "server/README.md").read_text()
table = page.split("| flags | in the Go releases | here |\n")[1].split("\n\n")[0]
written = {}
for row in table.splitlines()[1:]:
    names, when = row.strip("| ").split(" | ")[:2]
    written.update((flag, when) for flag in re.findall(r"`-([\w-]+)`", names))
for flag in sorted(expected.keys() | written.keys()):
    if expected.get(flag) != written.get(flag):
        print(f"-{flag}: {expected.get(flag, 'in no release')}; the page says {written.get(flag, 'nothing')}")
sys.exit(expected != written)

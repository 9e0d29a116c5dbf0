#!/usr/bin/env python3
"""Checks that each folder of server/ includes only folders below it in the table of server/README.md.

Tests and their helpers may include any folder.
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
server = root / "server"
table = re.findall(r"^\| (\[.*?)\|", (server / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
order = [folder for row in table for folder in re.findall(r"\]\((\w+)/\)", row)]
folders = {path.name for path in server.iterdir() if (path / "CMakeLists.txt").exists()}
faults = [f"server/README.md: its table lacks {name}/, or names a folder that is gone" for name in folders ^ set(order)]
for path in sorted(server.rglob("*")):
    if path.suffix not in {".h", ".cc"} or re.search("test|random_", path.relative_to(server).as_posix()):
        continue
    folder = path.relative_to(server).parts[0]
    for included in re.findall(r'#include "server/(\w+)/', path.read_text(encoding="utf-8")):
        if folder in order and included in order and order.index(included) < order.index(folder):
            faults.append(f"{path.relative_to(root)}: {folder}/ may not include {included}/")
print("\n".join(faults), end="\n" if faults else "")
sys.exit(bool(faults))

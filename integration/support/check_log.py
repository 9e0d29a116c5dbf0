#!/usr/bin/env python3
"""Checks that each line that the programs logged during tests is klog's or JSON.

  CSI_PROXY_KEEP_LOGS=/tmp/logs ctest --preset release    # keeps the output of every child process there
  integration/support/check_log.py /tmp/logs [build/release/Testing/Temporary/LastTest.log]

In ctest's own log, which has other text too, only lines that begin like klog's are checked.
"""
import json
import pathlib
import re
import sys

root = pathlib.Path(__file__).parents[2]
parser = re.search(r'kGlogParser\[\] =\s*R"\((.*)\)"', (root / "server/observability/log_testing.h").read_text()).group(1)
glog = re.compile(parser.replace("(?<", "(?P<").encode())
# What klog writes at the beginning of a file.
first = re.compile(rb"Log file created at: |Running on machine: |Binary: Built with |Log line format: ")
begins = re.compile(rb"[A-Z]\d{4} \d\d:\d\d:\d\d")
programs = {"csi-proxy", "csi-proxy-simulated", "csi-node-sidecars", "csi-node-driver-registrar", "node-driver-registrar", "livenessprobe"}


def is_json(line):
    try:
        return "severity" in json.loads(line)
    except ValueError:
        return False


checked = wrong = files = 0
for file in sorted(pathlib.Path(sys.argv[1]).iterdir()) + [pathlib.Path(name) for name in sys.argv[2:]]:
    lines = file.read_bytes().splitlines()
    kept = file.parent == pathlib.Path(sys.argv[1])
    if kept:
        code, *words = lines.pop(0).decode(errors="replace").split(" ")
        # These print help, a list or what is wrong with the command line instead of a log.
        if not programs & {word.rsplit("/", 1)[-1] for word in words} or code == "2" or {"--help", "-h", "--version"} & set(words):
            continue
    files += 1
    for line in lines:
        if not kept and not begins.match(line):
            continue
        checked += 1
        if not (glog.match(line) or first.match(line) or is_json(line)):
            wrong += 1
            print(f"{file}: {line.decode(errors='replace')}")
print(f"{checked} lines of {files} files, {wrong} of which no parser reads")
sys.exit(wrong > 0 or checked == 0)

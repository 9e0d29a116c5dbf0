#!/usr/bin/env python3
"""Makes the calls of calls.txt, in their order, by csi-proxyctl of build/release to a csi-proxy with a simulated
node, and compares the answers. Prints what differs, and how many calls of each driver were made."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
BUILD = ROOT / "build/release"
VALUES = {
    "$K": r"C:\var\lib\kubelet",
    "$P": "--target-portal.target-address=10.20.0.7 --target-portal.target-port=3260",
}
# The storage that the two iSCSI drivers use.
PORTAL = """iscsi_portal { address: "10.20.0.7" target { iqn: "iqn.2019-10.example.storage:pvc" disk {
  number: 40 size_bytes: 10737418240 bus_type: BUS_ISCSI location: "iSCSI : Adapter 1 : Port 0 : Target 0 : LUN 0"
  page83: "6589cfc0" serial_number: "080000040" } } }"""
VOLUME = re.compile(r'\\\\\?\\Volume\{[^}]*\}\\')


def main():
    directory = tempfile.mkdtemp(prefix="csi-proxy-sequences-", dir="/tmp")
    scenario = pathlib.Path(directory, "scenario.textproto")
    scenario.write_text((ROOT / "server/simulator/scenarios/default.textproto").read_text() + PORTAL)
    service = subprocess.Popen(
        [BUILD / "server/csi-proxy", "--host=simulated", f"--scenario={scenario}", f"--socket-dir={directory}",
         r"--working-dir=C:\var\lib\kubelet", r"--working-dir=C:\local"], stderr=subprocess.PIPE, text=True)
    while " serves " not in service.stderr.readline():
        if service.poll() is not None:
            sys.exit("the service does not start")
    calls, failures, volume, driver = {}, 0, "", ""
    for line in (HERE / "calls.txt").read_text().splitlines():
        if line.startswith("== "):
            driver = re.split("[,:]", line[3:])[0]
        if not line or line.startswith(("#", "== ")):
            continue
        call, _, expected = line.partition(" -> ")
        for name, value in VALUES.items():
            call = call.replace(name, value)
        words = [word.replace("$V", volume).replace("~", " ") for word in call.split()]
        if words[0] != "sim":
            words[1:2] = [f"--api={words[1]}"]
        done = subprocess.run([BUILD / "client/ctl/csi-proxyctl", f"--socket-dir={directory}", "-o", "json", *words],
                              capture_output=True, text=True, timeout=60, check=False)
        if done.returncode == 0:
            answer = json.dumps(json.loads(done.stdout or "{}"), separators=(",", ":"))
            volume = (VOLUME.findall(done.stdout.replace("\\\\", "\\")) or [volume])[-1]
            right = not re.match("[A-Z_]+( |$)", expected) and expected in answer
        else:
            answer = done.stderr.splitlines()[0]
            code, _, text = expected.partition(" ")
            right = answer.startswith(f"error: {code}: ") and text in answer
        calls[driver] = calls.get(driver, 0) + 1
        if not right:
            failures += 1
            print(f"{driver}: {' '.join(words)}\n  got:      {answer}\n  expected: {expected or 'OK'}")
    service.kill()
    print(", ".join(f"{driver}: {number} calls" for driver, number in calls.items()) + f"; {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

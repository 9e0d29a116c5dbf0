"""Reads what the programs serve at /metrics, after calls of every kind they count."""

import contextlib
import pathlib
import re
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

SERIES = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$", re.M)
LABEL = re.compile(r'([a-zA-Z_]\w*)="(?:[^"\\]|\\.)*"')


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def scrape(proxy, ctl):
    """Each metric's labels, by name, and the pipes as pairs of a group and a version."""
    with tempfile.TemporaryDirectory(prefix="csi-proxy-metrics-", dir="/tmp") as directory:
        port = free_port()
        # Few connections, so that a client of many gets more than its share.
        service = subprocess.Popen(
            [
                proxy,
                "--host=simulated",
                f"--socket-dir={directory}",
                "--max-connections=8",
                f"--metrics-bind-address=:{port}",
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            return exercised(pathlib.Path(directory), port, ctl)
        finally:
            service.terminate()
            log = service.communicate()[1]
            if service.returncode != 0:
                print(log)


def labels_by_name(text):
    metrics = {}
    for name, labels in SERIES.findall(text):
        metrics.setdefault(name, set()).update(LABEL.findall(labels))
    return metrics


def scrape_sidecars(sidecars, driver):
    """Each metric's labels, by name, of the sidecars beside the sample driver."""
    with tempfile.TemporaryDirectory(prefix="csi-sidecars-metrics-", dir="/tmp") as directory:
        socket_, port = f"{directory}/csi.sock", free_port()
        commands = (
            [driver, f"--endpoint=unix://{socket_}", "--mode=embedded"],
            [
                sidecars,
                f"--csi-address={socket_}",
                f"--kubelet-registration-path={socket_}",
                f"--plugin-registration-path={directory}",
                f"--http-endpoint=127.0.0.1:{port}",
            ],
        )
        with contextlib.ExitStack() as stack:
            for command in commands:
                started = stack.enter_context(
                    subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                )
                stack.callback(started.terminate)
            until = time.monotonic() + 20
            while True:
                try:
                    # Counts a call of the driver.
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz").close()
                    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
                    return labels_by_name(text)
                except urllib.error.URLError:
                    if time.monotonic() > until:
                        raise
                    time.sleep(0.05)


def exercised(directory, port, ctl):
    pipe = directory / "csi-proxy-disk-v1.sock"
    until = time.monotonic() + 20
    while not pipe.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"{pipe} does not appear")
        time.sleep(0.05)
    for arguments, code in (
        (["disk", "list-disk-ids"], 0),
        (["disk", "get-disk-stats", "--disk-number=99"], 1),
        (["--api=v1beta1", "disk", "list-disk-locations"], 0),
    ):
        done = subprocess.run([ctl, f"--socket-dir={directory}", *arguments], capture_output=True)
        if done.returncode != code:
            raise RuntimeError(f"{arguments}: {done.returncode}: {done.stderr}")
    clients = []
    for _ in range(16):
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(pipe))
        clients.append(client)
    url = f"http://127.0.0.1:{port}/metrics"
    until = time.monotonic() + 10
    while True:
        text = urllib.request.urlopen(url).read().decode()
        # Mappings are counted after the first scrape that asks for them.
        awaited = ("csi_proxy_client_limited_total{", "csi_proxy_smb_mappings{")
        if all(one in text for one in awaited) or time.monotonic() > until:
            break
        time.sleep(0.2)
    metrics = labels_by_name(text)
    names = (re.fullmatch(r"csi-proxy-(\w+)-(v\w+)\.sock", p.name) for p in directory.iterdir())
    return metrics, sorted(name.groups() for name in names if name)

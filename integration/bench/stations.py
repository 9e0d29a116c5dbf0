#!/usr/bin/env python3
"""Counts the instructions of a call, station by station, with callgrind.

  stations.py CSI_PROXY ECHO_SERVER LOAD DETAILS [CALLS]

LOAD is the client, DETAILS the file that gets the costliest functions of each station.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict

# A function is at the first station that has a pattern with which its name begins. Any other function,
# such as malloc, is where its callers are, in proportion to what their calls of it cost. Of an inlined
# function no name is left, and of several with the same code one, so patterns name whole classes.
WHOLE, PART = "gRPC, from the socket to the call and back", "of it the filters for HTTP and `--idle-timeout`"
STATIONS = {
    WHOLE: ["start_thread$", r"grpc::internal::CallbackUnaryHandler<.*::Finish\(", "grpc_call_next_op"],
    PART: ["grpc_core::promise_filter_detail::"],
    "request and answer as messages, unknown fields, secrets": [
        "google::protobuf::", r"v1::\w+(Request|Response)::", "grpc::ProtoBuffer(Reader|Writer)",
        "grpc::Status grpc::GenericSerialize<", r"csi_proxy::rpc::(\w+Fields|WipeTexts)\("],
    "the call's objects, its connection, its turn": ["csi_proxy::rpc::"],
    "log, audit, metrics": [r"csi_proxy::\w+::\(anonymous namespace\)::Audited::", "csi_proxy::observability::"],
    "conversion to the hub and back": [r"csi_proxy::\w+::v1::"],
    "the path as text: its rules, the working directories": [
        "csi_proxy::WindowsPath::", "csi_proxy::groups::ParseConfined"],
    "the walk along the path": ["csi_proxy::host::Resolve", r"csi_proxy::host::\(anonymous namespace\)::Walker::"],
    "the handler, its locks, the host": [r"csi_proxy::\w+::\(anonymous namespace\)::\w+Service::", "csi_proxy::host::"],
    "the simulated machine": ["csi_proxy::machine::simulated::", r"csi_proxy::\w+::Faulty::"],
}
ALL, REST = "all", "the rest"
BARE = "bare gRPC C++"
RPCS = {"PathExists": "filesystem", "GetDiskState": "disk", "GetVolumeStats": "volume", "Mkdir": "filesystem"}
# Seconds. Under valgrind a program takes fifty times as long.
PATIENCE = 600

# Debian's valgrind does not know openat2, by which the service opens its directory of sockets.
OPENAT2 = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <sys/syscall.h>
long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_openat2) {
    return openat((int)a[0], (const char*)a[1], (int)((const struct open_how*)a[2])->flags);
  }
  static long (*next)(long, ...);
  if (next == 0) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""


def run(*command):
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}:\n{done.stdout}{done.stderr}")


class Server:
    """A program under callgrind, in a directory of its own."""

    def __init__(self, directory, *command):
        self.directory = directory
        self.dumps = 0
        source, library = directory / "openat2.c", directory / "openat2.so"
        source.write_text(OPENAT2)
        run("cc", "-O2", "-shared", "-fPIC", "-o", library, source)
        callgrind = ["valgrind", "--tool=callgrind", "--fair-sched=yes", "--compress-strings=no", "--compress-pos=no",
                     f"--callgrind-out-file={directory}/out"]
        self.log = open(directory / "log", "w+")
        self.process = subprocess.Popen(
            [*callgrind, *command], env={**os.environ, "LD_PRELOAD": str(library)}, stdout=self.log, stderr=self.log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)

    def wait_for(self, socket):
        end = time.monotonic() + PATIENCE
        while not socket.is_socket():
            if self.process.poll() is not None or time.monotonic() > end:
                self.log.seek(0)
                sys.exit(f"{socket} does not come:\n{self.log.read()}")
            time.sleep(0.1)

    def take(self):
        """What has happened since the last time: the own cost of each function, and the cost of calls by
        caller and callee."""
        run("callgrind_control", "--dump", str(self.process.pid))
        self.dumps += 1
        return read(self.directory / f"out.{self.dumps}")


def read(path):
    own, calls = Counter(), Counter()
    file = called_file = function = called = None
    for line in path.read_text().splitlines():
        key, _, value = line.partition("=")
        if key == "ob":
            file = value
        elif key == "fn":
            function = (file, value)
        elif key == "cob":
            called_file = value
        elif key == "cfn":
            called = (called_file or file, value)
        elif line[:1].isdigit():
            # The line in the source, and the cost.
            cost = int(line.split()[1])
            if called is None:
                own[function] += cost
            else:
                calls[function, called] += cost
                called = called_file = None
    return own, calls


def measure(server, load, rpc, socket, count):
    """As take(), of one call. Two loads are compared, so that start and end of a connection do not count."""
    server.wait_for(socket)
    client = [load, "-rpc", rpc, "-socket", socket]
    run(*client, "-first")

    def costs(n):
        run(*client, "-callers", "8", "-connections", "1", "-calls", str(n))
        return server.take()

    # The first calls have more to do.
    costs(count // 10)
    few, many = costs(count // 2), costs(count + count // 2)
    for less, more in zip(few, many):
        more.subtract(less)
        for key in more:
            more[key] /= count
    return many


class Names:
    """Knows the station of a function, and which patterns have fitted any."""

    def __init__(self):
        self.patterns = [(re.compile(p), station) for station, patterns in STATIONS.items() for p in patterns]
        self.fitted = set()

    def station(self, function):
        name = function[1].removeprefix("non-virtual thunk to ")
        for pattern, station in self.patterns:
            if pattern.match(name):
                self.fitted.add(pattern)
                return station
        return None

    def check(self):
        for pattern, station in self.patterns:
            if pattern not in self.fitted:
                sys.exit(f"{station}: no function has a name that begins with {pattern.pattern}")


def share_out(own, calls, names):
    """The share of each station in the own cost of each function."""
    shares = {f: {names.station(f): 1.0} for f in {*own, *(f for pair in calls for f in pair)}}
    callers = defaultdict(list)
    for (caller, called), cost in calls.items():
        if None in shares[called] and cost > 0:
            callers[called].append((caller, cost))
    for function in shares:
        if None in shares[function]:
            shares[function] = {} if function in callers else {REST: 1.0}
    # Functions may call each other in circles, so this comes near the solution step by step.
    change = 1.0
    while change > 1e-6:
        change = 0.0
        for function, by in callers.items():
            sums = Counter()
            for caller, cost in by:
                for station, share in shares[caller].items():
                    sums[station] += share * cost
            whole = sum(cost for _, cost in by)
            new = {station: s / whole for station, s in sums.items()}
            change = max(change, sum(abs(new[s] - shares[function].get(s, 0)) for s in new))
            shares[function] = new
    return shares


def at_stations(own, calls, names, title, details):
    """The cost of a call by station."""
    shares = share_out(own, calls, names)
    parts = defaultdict(Counter)
    for function, cost in own.items():
        for station, share in shares[function].items():
            parts[station][function[1]] += share * cost
    column = {ALL: sum(own.values())} | {s: sum(parts[s].values()) for s in (*STATIONS, REST)}
    for station, cost in column.items():
        print(f"\n{title}: {station}: {cost:.0f}", file=details)
        for function, part in parts[station].most_common(30):
            print(f"{part:8.0f} {function}", file=details)
    return column


def hundreds(cost):
    return f"{round(cost / 100) * 100:,}"


def row(title, figures):
    print("|", title, "|", " | ".join(figures), "|")


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    ours, echo, load, details = sys.argv[1:5]
    count = int(sys.argv[5]) if len(sys.argv) == 6 else 4000
    columns = {}
    names = Names()
    with tempfile.TemporaryDirectory(prefix="csi-proxy-stations-") as name, open(details, "w") as out:
        directory = pathlib.Path(name)
        flags = ["--host=simulated", "--metrics-bind-address=:0", f"--socket-dir={directory}/pipes"]
        with Server(directory, ours, *flags) as server:
            for rpc, group in RPCS.items():
                costs = measure(server, load, rpc, directory / "pipes" / f"csi-proxy-{group}-v1.sock", count)
                columns[rpc] = at_stations(*costs, names, rpc, out)
        names.check()
        with Server(directory, echo, directory / "echo.sock") as server:
            costs = measure(server, load, "PathExists", directory / "echo.sock", count)
            columns[BARE] = at_stations(*costs, names, BARE, out)
    row("station", columns)
    print("|---" * (len(columns) + 1) + "|")
    for station in (ALL, *STATIONS, REST):
        more = [PART] if station == WHOLE else []
        row(station, (hundreds(sum(c[s] for s in (station, *more))) for c in columns.values()))


main()

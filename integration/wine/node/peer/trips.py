#!/usr/bin/env python3
"""Counts what a volume of each driver costs: what two services ask WMI for it and how often they go to WMI's process,
operation by operation (steps/drivers.go), as the double recorded it (call_record_windows.h).

    trips.py --ours FILE --theirs FILE --library FILE [--readme FILE [--write]]

Prints a table in Markdown. Fails when staging, publishing, unpublishing and unstaging cost more than MOST of theirs,
or when their library costs something else than their service. Says when the table of a README, between
<!-- trips --> and <!-- /trips -->, is another one; or writes it there.
"""
import argparse
import collections
import sys

import calls

# The requests to WMI; and the other round trips to its process: answers that are fetched,
# connections.
REQUESTS = {"query", "object", "method"}
FURTHER = {"connect", "next", "result"}
# The operations that every volume needs.
ALWAYS = ("stage", "publish", "unpublish", "unstage")
# The most that it may cost, of theirs. The README tells why shares cost more.
MOST = collections.defaultdict(lambda: 0.5, {"csi-driver-smb": 2 / 3, "azurefile": 2 / 3})

Cost = collections.namedtuple("Cost", "requests trips win32")


def total(costs):
    return Cost(*map(sum, zip(*costs)))


def read(path):
    """Reads the cost of each operation, by driver, and the requests made of WMI only once, for all."""
    costs = {}
    definitions, namespaces = set(), set()
    cost = None
    for line in open(path, encoding="utf-8"):
        kind, name, what, _, result = line.rstrip("\n").split("\t")
        if kind == "operation":
            cost = costs.setdefault(name, {}).setdefault(what, collections.Counter()) if name else None
        elif kind == "connect":
            namespaces.add(name.lower())
        elif kind == "object" and what == "class":
            definitions.add(name)
        # The number of times that a client asks whether there is an answer yet is a matter of time.
        if cost is not None and result != "timed out":
            cost[kind] += 1
    counted = {driver: {operation: Cost(sum(cost[kind] for kind in REQUESTS),
                                        sum(cost[kind] for kind in REQUESTS | FURTHER), cost["win32"])
                        for operation, cost in operations.items()}
               for driver, operations in costs.items()}
    return counted, len(definitions), len(namespaces)


def row(driver, operation, ours, theirs):
    def pair(here, there):
        return "%d | %d | %s" % (there, here, "%.2f" % (here / there) if there else "")
    return "| %s | %s | %s | %s | %d |" % (driver, operation, pair(ours.requests, theirs.requests),
                                         pair(ours.trips, theirs.trips), ours.win32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", required=True)
    parser.add_argument("--theirs", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--readme")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    ours, definitions, namespaces = read(options.ours)
    theirs = read(options.theirs)[0]
    library = read(options.library)[0]
    if not ours or ours.keys() != theirs.keys():
        sys.exit("not all drivers were recorded")
    lines = ["| driver | operation | requests: Go release | here | ratio | round trips: Go release | here | ratio "
             "| Win32 calls here |", "|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    wrong = []
    for driver, operations in ours.items():
        for operation, cost in operations.items():
            lines.append(row(driver, operation, cost, theirs[driver][operation]))
        here, there = (total(of[driver][operation] for operation in ALWAYS) for of in (ours, theirs))
        lines.append(row(driver, "**%s**" % ", ".join(ALWAYS), here, there))
        for what in ("requests", "trips"):
            ratio = getattr(here, what) / getattr(there, what)
            if ratio > MOST[driver]:
                wrong.append("%s: %s are %.2f of the Go release's, more than %.2f"
                             % (driver, what, ratio, MOST[driver]))
    for driver, operations in library.items():
        for operation, cost in operations.items():
            if cost[:2] != theirs[driver][operation][:2]:
                wrong.append("%s: %s costs the Go library something else than the release" % (driver, operation))
    lines += ["", "Besides, once in the life of this service: connections to %d namespaces, the definitions of %d "
              "classes." % (namespaces, definitions)]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.readme:
        calls.put_into(options.readme, "trips", text, options.write)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()

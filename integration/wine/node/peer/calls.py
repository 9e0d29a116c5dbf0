#!/usr/bin/env python3
"""Compares what two programs asked of WMI, as the double recorded it (see call_record_windows.h).

    calls.py --ours FILE... --theirs FILE... [--at-least PERCENT] [--readme FILE [--write]]

Prints, in Markdown, the calls that both programs make, those that only one makes, and the share of our
calls that theirs makes too. Definitions of classes are not counted, because COM fetches one for every
method. Fails below PERCENT. Compares the calls that only one makes, and the share, with the text between
<!-- calls --> and <!-- /calls --> of the README, and reports if they differ; --write updates the README.

Two methods are the same if class, name, names of the given parameters and types of their VARIANTs are.
Two queries are the same if class, compared properties and operators are; two associations, if source,
classes and roles are; two definitions, if the class is.
"""
import argparse
import re
import sys

SELECT = re.compile(r"SELECT\s+(.+?)\s+FROM\s+(\w+)(?:\s+WHERE\s+(.*?))?\s*$", re.I)
CONDITION = re.compile(r"(\w+)\s*(=|<>)\s*('(?:[^'\\]|\\.)*'|\w+)")
ASSOCIATORS = re.compile(r"ASSOCIATORS OF \{(\w+)\..*\}\s+WHERE\s+(.*)$", re.I)


def parse_query(text):
    found = ASSOCIATORS.match(text)
    if found:
        clauses = dict(re.findall(r"(\w+)\s*=\s*(\w+)", found[2]))
        return ("associators of " + found[1],
                "%(AssocClass)s to %(ResultClass)s (%(Role)s to %(ResultRole)s)" % clauses)
    found = SELECT.match(text)
    if not found:
        sys.exit("no query that is known: " + text)
    conditions = sorted("%s %s" % one[:2] for one in CONDITION.findall(found[3] or ""))
    return ("query " + found[2], ", ".join(conditions))


def read(paths):
    """Returns the calls of all files: a map from each call in lower case to the call as written."""
    calls = {}
    for path in paths:
        for line in open(path, encoding="utf-8"):
            kind, name, what, parameters, _ = line.rstrip("\n").split("\t")
            if kind == "query":
                call = parse_query(what)
            elif kind == "object":
                call = (("definition of " if what == "class" else "instance of ") + name, "")
            elif kind == "method":
                call = (name + "." + what, ", ".join(sorted(parameters.split(", "))))
            elif kind == "refused":  # a parameter that WMI did not take
                call = (kind + " " + what, parameters)
            else:
                continue
            calls.setdefault(tuple(part.lower() for part in call), call)
    return calls


def table(title, calls):
    lines = ["", "%s: %d" % (title, len(calls)), "", "| call | with |", "|---|---|"]
    for call in sorted(calls, key=lambda one: (one[0].lower(), one[1])):
        lines.append("| `%s` | %s |" % (call[0], ("`%s`" % call[1]) if call[1] else ""))
    return lines


def put_into(readme, mark, text, write):
    whole = open(readme, encoding="utf-8").read()
    begin, end = "<!-- %s -->\n" % mark, "<!-- /%s -->\n" % mark
    before, rest = whole.split(begin)
    shown, after = rest.split(end)
    if shown == text:
        return
    if not write:
        print("\n%s shows another table: --write would renew it." % readme)
        return
    with open(readme, "w", encoding="utf-8") as file:
        file.write(before + begin + text + end + after)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", nargs="+", required=True)
    parser.add_argument("--theirs", nargs="+", required=True)
    parser.add_argument("--at-least", type=int, default=0)
    parser.add_argument("--readme")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    ours, theirs = read(options.ours), read(options.theirs)
    if not ours or not theirs:
        sys.exit("nothing was recorded")
    both = [ours[call] for call in ours if call in theirs]
    print("\n".join(table("Calls that both make", both)[1:]) + "\n")
    lines = table("Calls that only this service makes",
                  [ours[call] for call in ours if call not in theirs])
    lines += table("Calls that only the Go release makes",
                   [theirs[call] for call in theirs if call not in ours])
    counted = [call for call in ours if not call[0].startswith("definition of ")]
    shared = [call for call in counted if call in theirs]
    share = 100 * len(shared) / len(counted)
    lines += ["", "Of %d queries, associations and methods of this service, the Go release makes %d"
              " too: %.0f %%." % (len(counted), len(shared), share)]
    text = "\n".join(lines[1:]) + "\n"
    print(text, end="")
    if options.readme:
        put_into(options.readme, "calls", text, options.write)
    if share < options.at_least:
        sys.exit("that is less than %d %%" % options.at_least)


if __name__ == "__main__":
    main()

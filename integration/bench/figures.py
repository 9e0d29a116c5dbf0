#!/usr/bin/env python3
"""Keeps the figures of the pages in one file, results.json, which the benchmarks write.

    figures.py record RUN FILE COMMAND    puts a benchmark's result into results.json: RUN.json of run.sh
    figures.py copy                       writes the figures between the marks of the pages
    figures.py                            fails when a page has other figures

A mark is <!-- figures NAME --> ... <!-- /figures -->. A block whose run has no result yet stays as it is.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESULTS = HERE / "results.json"
PAGES = [ROOT / "README.md", HERE / "README.md"]
BLOCK = re.compile(r"(<!-- figures (\w+) -->\n).*?(<!-- /figures -->)", re.S)
# Rows of the README's table: text, run, row of the run, format, and the page that explains the figure.
SUMMARY = [
    ("round trips to WMI to stage, publish, unpublish and unstage an EBS volume", "trips", "round trips of aws-ebs", "{:.0f}",
     "[integration/bench](integration/bench/README.md#calls-of-windows)"),
    ("server CPU of a call, one caller", "wine", "server CPU, µs/call (1 caller)", "{:.0f} µs",
     "[integration/bench](integration/bench/README.md#the-two-services-under-wine)"),
    ("median time of a call, one caller", "wine", "p50, µs (1 caller)", "{:.0f} µs", "the same"),
    ("calls a second, 64 callers", "wine", "calls/s (64 callers)", "{:.0f}", "the same"),
    ("memory after 64 callers", "wine", "RSS after load, MiB", "{:.0f} MiB", "the same"),
    ("start to the first answer", "wine", "start to answer, ms", "{:.0f} ms", "the same"),
    ("size of the program", "wine", "program size, MiB", "{:.1f} MiB", "the same"),
]

# The pages show the rows with a ratio and a target, and the rows that begin with one of these
# texts; results.json has all rows.
SHOWN = ("p99, µs", "RSS", "all after, ms (StageTarget x 100)")


def ratio(values):
    return round(values[0] / values[1], 2) if values[0] is not None and values[1] else None


def read_run(path, command):
    """Returns a result of run.sh, with the rows that run.sh printed."""
    run = json.loads(path.read_text(encoding="utf-8"))
    figures = []
    for row in run["rows"]:
        loads = [run["servers"][name].get(row["load"] or "start", {}) for name in run["order"]]
        medians = [load.get(row["figure"], {}).get("median") for load in loads]
        if medians[0] is None:
            continue
        name = row["figure"].replace("us", "µs") + (" (%s)" % row["load"].replace("1 callers", "1 caller") if row["load"] else "")
        values = [None if value is None else round(value, 1) for value in medians]
        figures.append({"figure": name, "values": values, "ratio": ratio(medians), "target": row["target"]})
    return {"command": command, "date": run["date"][:10], "machine": "%d x %s" % (run["processors"], run["processor"]),
            "load average": round(run.get("load average before", 0), 1), "servers": run["order"], "figures": figures}


def number(value):
    return "" if value is None else "%.1f" % value


def misses(row):
    """Returns whether a row has a ratio on the wrong side of its target."""
    sign, _, limit = row["target"].partition(" ")
    if not limit or row["ratio"] is None:
        return False
    return row["ratio"] > float(limit) if sign == "<=" else row["ratio"] < float(limit)


def table(run):
    lines = ["`%s` on %s (%s, load average %s):" % (run["command"], run["date"], run["machine"], run.get("load average")), "",
             "| | %s | ratio | target |" % " | ".join(run["servers"]), "|---|" + "--:|" * (len(run["servers"]) + 1) + "---|"]
    shown = [row for row in run["figures"] if row["target"] and row["ratio"] is not None or row["figure"].startswith(SHOWN)]
    for row in shown:
        target = row["target"].replace("<=", "≤").replace(">=", "≥")
        values = " | ".join(map(number, row["values"]))
        lines.append("| %s | %s | %s | %s |" % (row["figure"], values, "" if row["ratio"] is None else "%.2f" % row["ratio"], target))
    missed = [row["figure"] for row in shown if misses(row)]
    return lines + ["", "Targets that this run missed: %s." % ("; ".join(missed) or "none")]


def summary(results):
    lines = ["| | this service | Go csi-proxy v1.3.0 | measured in |", "|---|--:|--:|---|"]
    for text, run, figure, form, where in SUMMARY:
        if run not in results:
            continue
        ours, theirs = next(row for row in results[run]["figures"] if row["figure"] == figure)["values"][:2]
        lines.append("| %s | %s | %s | %s |" % (text, form.format(ours), form.format(theirs), where))
    return lines


def page(text, results):
    def block(match):
        name = match[2]
        if name != "summary" and name not in results:
            return match[0]
        lines = summary(results) if name == "summary" else table(results[name])
        return match[1] + "\n".join(lines) + "\n" + match[3]
    return BLOCK.sub(block, text)


def one_figure_a_line(results):
    def text(value):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    runs = []
    for name, run in sorted(results.items()):
        about = {key: value for key, value in run.items() if key != "figures"}
        figures = ",\n".join(map(text, run["figures"]))
        runs.append('%s: %s, "figures": [\n%s]}' % (text(name), text(about)[:-1], figures))
    return "{%s}\n" % ",\n".join(runs)


def main():
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    if sys.argv[1:2] == ["record"]:
        name, path, command = sys.argv[2:]
        results[name] = read_run(pathlib.Path(path), command)
        RESULTS.write_text(one_figure_a_line(results), encoding="utf-8")
        return 0
    failed = 0
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        wanted = page(text, results)
        if sys.argv[1:] == ["copy"]:
            path.write_text(wanted, encoding="utf-8")
        elif wanted != text:
            print("%s has other figures than results.json: integration/bench/figures.py copy" % path.relative_to(ROOT), file=sys.stderr)
            failed = 1
    return failed


sys.exit(main())

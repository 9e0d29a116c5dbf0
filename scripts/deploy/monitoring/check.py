"""Checks alerts.yaml, alerts_test.yaml, dashboard.json and scrape.yaml. See check.sh."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

import expressions
import scraped

HERE = pathlib.Path(__file__).parent
# Prometheus's own, and what scrape.yaml adds.
OWN_METRICS = {"up": set(), "ALERTS": {"alertname", "alertstate", "severity"}}
OWN_LABELS = {"job", "instance", "node", "wave"}
# Grafana puts these in place (https://grafana.com/docs/grafana/latest/dashboards/variables/).
VARIABLES = {"$__rate_interval": "5m", "$job": "csi-proxy", "$instance": ".+"}


def promtool(*arguments):
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True)
    return [] if done.returncode == 0 else [f"promtool {arguments[1]}: {done.stdout}{done.stderr}"]


def panels(dashboard):
    """Panels, and what else asks Prometheus: name and expressions."""
    for panel in dashboard["panels"]:
        yield panel["title"], [target["expr"] for target in panel["targets"]]
    for annotation in dashboard["annotations"]["list"]:
        yield f"annotation {annotation['name']}", [annotation["expr"]]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            metric = re.match(r"label_values\((.*), (\w+)\)$", variable["query"]["query"])
            yield f"variable {variable['name']}", [f"count by ({metric[2]}) ({metric[1]})"]


def filled(expression):
    for variable, value in VARIABLES.items():
        expression = expression.replace(variable, value)
    return expression


def layout_complaints(dashboard):
    taken = {}
    known = {variable["name"] for variable in dashboard["templating"]["list"]}
    for panel in dashboard["panels"]:
        title, place = panel["title"], panel["gridPos"]
        if place["x"] + place["w"] > 24:
            yield f"panel {title}: wider than a dashboard"
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                if (x, y) in taken:
                    yield f"panel {title}: lies over {taken[x, y]}"
                    return
                taken[x, y] = title
        if not panel["description"]:
            yield f"panel {title}: is not described"
    ids = [panel["id"] for panel in dashboard["panels"]]
    if len(set(ids)) != len(ids):
        yield "two panels have one id"
    for name in re.findall(r"\$\{?(\w+)", json.dumps(dashboard)):
        if name not in known and not name.startswith("__"):
            yield f"variable {name}: is not defined"
    first = dashboard["panels"][0]
    if "old_api_clients" not in first["targets"][0]["expr"] or first["gridPos"]["y"] != 0:
        yield "the first panel does not show who calls old versions"


def metric_complaints(where, expression, served):
    """Names and labels that nobody has."""
    labels = set(OWN_LABELS)
    for name, matchers in expressions.selectors(expression):
        if name not in served:
            yield f"{where}: there is no metric {name}"
            continue
        labels |= served[name]
        for label, _, _ in matchers:
            if label not in served[name] | OWN_LABELS:
                yield f"{where}: {name} has no label {label}"
    for label in expressions.grouping_labels(expression):
        if label not in labels:
            yield f"{where}: no metric in it has the label {label}"


def old_versions(pipes):
    """Those that a newer version replaces; alpha and beta come before the version itself."""

    def age(version):
        number, stage, step = re.fullmatch(r"v(\d+)(alpha|beta)?(\d*)", version).groups()
        return int(number), {"alpha": 0, "beta": 1, None: 2}[stage], int(step or 0)

    for group in {group for group, _ in pipes}:
        versions = sorted((v for g, v in pipes if g == group), key=age)
        stable = [v for v in versions if age(v)[1] == 2]
        newest = stable[-1] if stable else versions[-1]
        yield from ((group, v) for v in versions if age(v) < age(newest))


def old_version_test(pipes):
    """A test for promtool: each pipe is called, and the old ones are recorded."""
    labels = 'group="{}", version="{}"'.format
    calls = 'csi_proxy_api_calls_total{{job="csi-proxy", {}}}'.format
    recorded = "csi_proxy:old_api_calls:total"
    return {
        "rule_files": [str(HERE / "alerts.yaml")],
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": calls(labels(*p)), "values": "1x10"} for p in pipes],
                "promql_expr_test": [
                    {
                        "expr": f"sum by (group, version) ({recorded})",
                        "eval_time": "5m",
                        "exp_samples": [
                            {"labels": f"{{{labels(*p)}}}", "value": 1}
                            for p in sorted(old_versions(pipes))
                        ],
                    }
                ],
            }
        ],
    }


def case_complaints(alerts, cases):
    """An alert without a test in which it fires, or without one in which it does not."""
    for alert in alerts:
        tried = [t for c in cases for t in c.get("alert_rule_test", []) if t["alertname"] == alert]
        if not any(test.get("exp_alerts") for test in tried):
            yield f"{alert}: no test has it fire"
        if all(test.get("exp_alerts") for test in tried):
            yield f"{alert}: no test has it keep quiet"


# Each must be complained about: else the check of names would let mistakes pass.
MISTAKES = (
    "rate(csi_proxy_calls_total[5m])",
    "sum by (pod) (csi_proxy_connections)",
    'csi_proxy_connections{phase="live"}',
    'up and on (node) grpc_server_handled{job="csi-proxy"}',
    "1 - upp",
    'sum(rate(csi_proxy_connections_total{outcome="a{b"}[1m])) / down',
    'csi_sidecar_registered{driver="d"} == 0',
)


def main():
    found = []
    rules = yaml.safe_load((HERE / "alerts.yaml").read_text())
    cases = yaml.safe_load((HERE / "alerts_test.yaml").read_text())["tests"]
    dashboard = json.loads((HERE / "dashboard.json").read_text())
    proxy, ctl, *beside = sys.argv[1:]
    served, pipes = scraped.scrape(proxy, ctl)
    served |= scraped.scrape_sidecars(*beside)
    served |= OWN_METRICS
    found += [
        f"not noticed: {one}" for one in MISTAKES if not list(metric_complaints("", one, served))
    ]

    found += promtool("check", "rules", HERE / "alerts.yaml")
    found += promtool("test", "rules", HERE / "alerts_test.yaml")
    found += layout_complaints(dashboard)
    asked = [(title, filled(one)) for title, many in panels(dashboard) for one in many]
    every_rule = [rule for group in rules["groups"] for rule in group["rules"]]
    # A recorded series is a metric too; its labels are those of an aggregation.
    for rule in every_rule:
        where = rule.get("alert") or rule["record"]
        found += metric_complaints(where, rule["expr"], served)
        if "record" in rule:
            names = set(expressions.grouping_labels(rule["expr"]))
            for name, _ in expressions.selectors(rule["expr"]):
                names |= served.get(name, set()) if "by (" not in rule["expr"] else set()
            served[rule["record"]] = served.get(rule["record"], set()) | names | set(rule.get("labels", {}))
    for title, expression in asked:
        found += metric_complaints(title, expression, served)

    alerts = [rule["alert"] for rule in every_rule if "alert" in rule]
    found += case_complaints(alerts, cases)
    page = (HERE.parent / "fleet.md").read_text()
    found += [
        f"{alert}: fleet.md does not say what to do"
        for alert in alerts
        if f"### {alert}\n" not in page
    ]
    found += [
        f"fleet.md: there is no alert {name}"
        for name in re.findall(r"^### (Csi\w+)$", page, re.M)
        if name not in alerts
    ]

    # The page has the targets of the budgets.
    for rule in every_rule:
        if rule.get("record") == "csi_proxy:slo_budget":
            target = 100 - 100 * float(re.fullmatch(r"vector\((.*)\)", rule["expr"])[1])
            if f"\n| `{rule['labels']['slo']}` | {target:g} % |" not in page:
                found.append(f"fleet.md: the objective {rule['labels']['slo']} is not {target:g} %")

    with tempfile.TemporaryDirectory() as directory:

        def written(name, content):
            path = pathlib.Path(directory, name)
            path.write_text(yaml.safe_dump(content))
            return path

        queries = [{"record": f"panel:{i}", "expr": e} for i, (_, e) in enumerate(asked)]
        groups = {"groups": [{"name": "dashboard", "rules": queries}]}
        found += promtool("check", "rules", written("dashboard.yaml", groups))
        found += promtool("test", "rules", written("old.yaml", old_version_test(pipes)))
        # Debian's Prometheus is built without the discovery of Kubernetes.
        config = yaml.safe_load((HERE / "scrape.yaml").read_text())
        patch = (HERE / "metrics-patch.yaml").read_text()
        port = re.search(r"--metrics-bind-address=\$\(NODE_IP\):(\d+)\n", patch)[1]
        if f"replacement: $1:{port}\n" not in (HERE / "scrape.yaml").read_text():
            found.append(f"scrape.yaml: does not ask at port {port}")
        for job in config["scrape_configs"]:
            if not job.pop("kubernetes_sd_configs"):
                found.append("scrape.yaml: a job discovers nothing")
        found += promtool("check", "config", written("scrape.yaml", config))

    for complaint in found:
        print(complaint)
    print(
        f"{len(alerts)} alerts, {len(dashboard['panels'])} panels, {len(served)} metrics: "
        f"{len(found)} complaints"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

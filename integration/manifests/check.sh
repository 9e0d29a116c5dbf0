#!/usr/bin/env bash
# Checks the manifests, alerts and dashboard of scripts/deploy with the programs of build/release.
#
#   integration/manifests/check.sh manifests   checks the manifests against the programs' flags and pipes
#   integration/manifests/check.sh admission   starts a real API server, which must accept the manifests, admit their pods
#                                              and refuse the pods that admission.yaml excludes
#   integration/manifests/check.sh alerts      promtool parses each expression and runs the alerts' tests; csi-proxy or
#                                              the sidecars must serve each metric
set -euo pipefail
cd "$(dirname "$0")/../.."

# Builds the API server from Go modules, which takes minutes, and keeps it until its versions or source change.
install_apiserver() {
  local here=$PWD version key
  . integration/support/go.sh
  cd integration
  version=$("$go" list -m -f '{{.Version}}' k8s.io/kubernetes)
  key=$("$go" list -m -f '{{.Path}} {{.Version}}' k8s.io/kubernetes go.etcd.io/etcd/server/v3 | cat - manifests/apiserver/main.go | sha256sum)
  apiserver=$HOME/.cache/csi-proxy/apiserver-$version-${key::12}/apiserver
  [[ -x $apiserver ]] || CGO_ENABLED=0 "$go" build -p "${JOBS:-2}" -o "$apiserver" \
    -ldflags="-s -w -X k8s.io/component-base/version.gitVersion=$version" ./manifests/apiserver
  cd "$here"
}
fail() { echo "$*" >&2; exit 1; }

scripts/install-packages.sh --foreign
[[ $# -gt 0 ]] || set -- manifests admission alerts
for part in "$@"; do
  case $part in
    manifests)
      proxy=$PWD/build/release/server/csi-proxy
      # The README quotes the command line of OpenShift's operator.
      read -ra openshift < <(grep -oP '^    C:\\k\\csi-proxy\.exe \K.*' scripts/deploy/README.md)
      "$proxy" "${openshift[@]}" --help >/dev/null
      python3 -B integration/manifests/check.py "$proxy" build/release/client/sidecars/program/csi-node-sidecars
      ;;
    admission)
      install_apiserver
      python3 -B integration/manifests/admission.py "$apiserver"
      ;;
    alerts)
      cd scripts/deploy/monitoring
      out=$(mktemp -d)
      trap 'rm -rf "$out"' EXIT
      promtool check rules alerts.yaml
      promtool test rules alerts_test.yaml
      # promtool parses the panels' expressions as rules, with values for Grafana's variables.
      jq '[.. | .expr? | strings] | {groups: [{name: "dashboard", rules: [to_entries[] | {record: "panel:\(.key)", expr: .value}]}]}' dashboard.json |
        sed 's/\$__rate_interval/5m/g; s/\$job/csi-proxy/g; s/\$instance/.+/g' >"$out/dashboard.yaml"
      promtool check rules "$out/dashboard.yaml"
      # Each name must be in the source of a program that serves the metric, or in alerts.yaml if it is recorded.
      for name in $(grep -oh 'csi_\(proxy\|sidecar\)_[a-z_]*\|grpc_server_[a-z_]*\|process_[a-z_]*' alerts.yaml dashboard.json | sort -u); do
        git -C ../../.. grep -qwE "${name%_bucket}|${name%_sum}|${name%_count}" -- '*.cc' '*.h' ':!*_test.cc' || fail "nothing serves $name"
      done
      for name in $(grep -oh 'csi_proxy:[a-z_:0-9]*' alerts.yaml dashboard.json | sort -u); do
        grep -q "record: $name\$" alerts.yaml || fail "nothing records $name"
      done
      for name in $(sed -n 's/^      - alert: //p' alerts.yaml); do
        grep -q "alertname: $name," alerts_test.yaml || fail "no test has $name"
        grep -q "^| $name |" README.md || fail "monitoring/README.md does not say what to do about $name"
      done
      cd - >/dev/null
      ;;
    *) echo "unknown part $part" >&2; exit 2 ;;
  esac
done

#!/usr/bin/env bash
# Checks the alerts and the dashboard: Prometheus's own promtool reads every expression and runs the
# alerts' tests, and each metric and label in them is one that the program serves.
#
#   scripts/deploy/monitoring/check.sh CSI_PROXY CSI_PROXYCTL
set -euo pipefail
proxy=$(realpath "$1")
ctl=$(realpath "$2")
cd "$(dirname "$0")/../../.."
scripts/install-packages.sh --foreign
exec "$(scripts/deploy/python.sh)" -B scripts/deploy/monitoring/check.py "$proxy" "$ctl"

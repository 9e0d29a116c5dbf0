#!/usr/bin/env bash
# csi-proxy.exe as a console program, as nssm and containers run it: Ctrl-C drains and ends it.
#
#   integration/wine/console_test.sh CSI_PROXY.exe
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
serving() { for _ in $(seq 1 300); do ! grep -q ' serves ' "$log" || return 0; sleep 0.1; done; return 1; }
stopped() { for _ in $(seq 1 300); do ! grep -q '\] stopped' "$log" || return 0; sleep 0.1; done; return 1; }

# A terminal of its own, at which Ctrl-C is typed once the pipes are there.
{ serving && printf '\003' && stopped; } | timeout 90 script -qec \
  "'$here/run' 'Z:$1' --host=simulated '--pipe-sddl=D:P(A;;GA;;;WD)' -logtostderr=false '-log_file=Z:$log'" /dev/null >/dev/null
cat "$log"
grep -q 'stopping on Ctrl-C' "$log" && grep -q '\] stopped' "$log"

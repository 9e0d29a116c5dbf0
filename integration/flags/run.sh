#!/usr/bin/env bash
# Compares how the service and the sidecars read random command lines with Go's flag package and with klog v1.0.0,
# v2.130.1 and v2.140.0: which lines are accepted, and which values they give. Prints each line that
# is read differently.
#
#   integration/flags/run.sh [LINES [SEED]]     1000 lines of each program, or CSI_PROXY_TEST_LINES, from a seed of
#                                               the day
#
# With a clone of kubernetes-csi/csi-proxy in CSI_PROXY_UPSTREAM, runs releases.py with it as well.
set -euo pipefail
cd "$(dirname "$0")/../.."
lines=${1:-${CSI_PROXY_TEST_LINES:-1000}}
seed=${2:-$(date +%Y%j)}
out=$PWD/build/flags
mkdir -p "$out"
ninja -C build/release read_flags >/dev/null
. integration/support/go.sh
cd integration/flags
for klog in v2.130.1 v2.140.0; do
  cp go.mod "$out/$klog.mod"
  cp go.sum "$out/$klog.sum"
  "$go" mod edit "-require=k8s.io/klog/v2@$klog" "$out/$klog.mod"
  "$go" build "-modfile=$out/$klog.mod" -o "$out/$klog" .
  "$out/$klog" -reader=../../build/release/integration/read_flags -lines="$lines" -seed="$seed" \
    "-older=$([[ $klog == v2.140.0 ]] && echo false || echo true)"
done
if [[ -n ${CSI_PROXY_UPSTREAM-} ]]; then
  ./releases.py "$CSI_PROXY_UPSTREAM"
else
  echo "CSI_PROXY_UPSTREAM names no clone of kubernetes-csi/csi-proxy, so releases.py is skipped"
fi

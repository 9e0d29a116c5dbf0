#!/usr/bin/env bash
# Memory, start-up and idle processor time of upstream's node-driver-registrar and livenessprobe and
# of csi-node-sidecars, in turns within one run. Leave the machine alone meanwhile.
#
#   integration/peers/sidecars/bench.sh [TURNS [SECONDS_IDLE [FILE]]]
#
# FILE is another build of csi-node-sidecars. CSI_PROXY_UPSTREAM_SIDECARS is as for run.sh.
set -euo pipefail
cd "$(dirname "$0")/../../.."
turns=${1:-9}
idle=${2:-60}
program=${3:+$(realpath "$3")}
out=$PWD/build/sidecars
logs=$out/bench
rm -rf "$logs" "$out/ours"
mkdir -p "$logs" "$out/ours" "$out/upstream"
. integration/peers/sidecars/programs.sh
build
build_upstream || { echo "upstream's programs cannot be had here" >&2; exit 1; }
"$out/trial" bench -upstream "$out/upstream" -ours "$out/ours" -turns "$turns" -idle "${idle}s" -logs "$logs" \
  -out "$out/bench.json"

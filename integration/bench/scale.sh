#!/usr/bin/env bash
# Measures what csi-proxy's calls cost as its node grows, on a simulated node on Linux. Leave the
# machine alone meanwhile.
#
#   integration/bench/scale.sh [SECONDS_PER_TURN [TURNS]]   1 to 1,000 disks, 1 to 512 clients
#   integration/bench/scale.sh day [MINUTES [SPEED]]        a day of a large node, SPEED times as fast
#
# Stays in build/peer: scale.json and scale.svg, or day.json and day.svg.
set -euo pipefail
cd "$(dirname "$0")/../.."
what=nodes result=scale
if [[ ${1-} == day ]]; then
  what=day result=day
  shift
fi
scripts/install-packages.sh --bench
[[ -f build/release/build.ninja ]] || cmake --preset release >/dev/null
ninja -C build/release csi-proxy >/dev/null
out=$PWD/build/peer
mkdir -p "$out"
protoc -I. --include_imports --descriptor_set_out="$out/admin.pb" server/simulator/admin.proto
(
  cd integration/bench/peer/scale
  export CGO_ENABLED=0
  go test . >/dev/null
  go build -o "$out/scale" .
)
"$out/scale" "$what" build/release/server/csi-proxy "$out/admin.pb" "$out/$result" "$@"
gnuplot -e "data='$out/$result.dat'; callers='$out/scale-callers.dat'; plot='$out/$result.svg'" \
  "integration/bench/$result.gp"

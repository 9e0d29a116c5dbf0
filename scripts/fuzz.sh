#!/usr/bin/env bash
# Builds the fuzzers with clang and runs each for a while (60 seconds unless told otherwise).
#
#   scripts/fuzz.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
scripts/install-packages.sh --fuzz
cmake --preset fuzz >/dev/null
ninja -C build/fuzz fuzzers
corpora=~/.cache/csi-proxy/fuzz
failed=0
for fuzzer in build/fuzz/integration/fuzz/*_fuzzer; do
  name=$(basename "$fuzzer")
  mkdir -p "$corpora/$name"
  seeds=()
  if [[ $name == scenario_fuzzer ]]; then
    mkdir -p build/fuzz/seeds && cp server/host/simulated/default.textproto build/fuzz/seeds/
    seeds=(build/fuzz/seeds)
  fi
  echo "== $name, $seconds s"
  "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/$name-" "$corpora/$name" "${seeds[@]}" >"build/fuzz/$name.log" 2>&1 ||
    { tail -30 "build/fuzz/$name.log"; failed=1; }
  grep -E 'number_of_executed_units' "build/fuzz/$name.log" || true
done
exit $failed

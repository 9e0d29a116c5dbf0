#!/usr/bin/env bash
# Installs, builds and tests everything on a fresh machine: unit and integration tests, then the
# quick start. Ends with one count.
#
#   scripts/test.sh            the release build
#   scripts/test.sh --asan     under AddressSanitizer and UndefinedBehaviorSanitizer as well
#   scripts/test.sh --tsan     under ThreadSanitizer as well
#   scripts/test.sh --fuzz     with the fuzzers, a minute each, as well
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-packages.sh
presets=(release)
fuzz=no
for argument in "$@"; do
  case $argument in
    --asan | --tsan) presets+=("${argument#--}") ;;
    --fuzz) fuzz=yes ;;
    *) echo "unknown option $argument" >&2; exit 2 ;;
  esac
done

passed=0
failed=0
for preset in "${presets[@]}"; do
  echo "== $preset"
  cmake --preset "$preset" >/dev/null
  ninja -C "build/$preset"
  log=build/$preset/ctest.log
  # A sanitizer makes each call dear; the large load test is scaled to match.
  [[ $preset == release ]] || export CSI_PROXY_TEST_CALLS=10000
  # Sanitizers report here, those of the programs that tests start as well: one report is a failure.
  reports=build/$preset/reports
  rm -rf "$reports" && mkdir -p "$reports"
  ctest --preset "$preset" --parallel 2 | tee "$log" || true
  tests=$(sed -nE 's/.* ([0-9]+) tests failed out of ([0-9]+).*/\1 \2/p' "$log")
  read -r bad all <<<"${tests:-1 1}"
  passed=$((passed + all - bad))
  failed=$((failed + bad))
  for report in "$reports"/*; do
    [[ -e $report ]] || continue
    head -60 "$report"
    failed=$((failed + 1))
  done
done

echo "== quick start"
if scripts/quickstart.sh; then passed=$((passed + 1)); else failed=$((failed + 1)); fi

if [[ $fuzz == yes ]]; then
  echo "== fuzzers"
  if scripts/fuzz.sh 60; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
fi

echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]

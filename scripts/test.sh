#!/usr/bin/env bash
# Installs, builds and tests everything on a fresh machine: unit and integration tests on Linux, the
# style, the quick start, the Go package, csi-sanity, manifests, alerts, grpcurl and promtool, the
# libraries as installed, the Windows programs under Wine, the released Go clients and drivers
# against them, and a release made twice. Ends with one count.
#
#   scripts/test.sh                 all of that
#   scripts/test.sh --no-windows    without what needs mingw-w64 and Wine
#   scripts/test.sh --lint          with clang-tidy on every file, not on a share
#   scripts/test.sh --asan          under AddressSanitizer and UndefinedBehaviorSanitizer as well
#   scripts/test.sh --tsan          under ThreadSanitizer as well
#   scripts/test.sh --fuzz          with the fuzzers, a minute each, as well
set -euo pipefail
cd "$(dirname "$0")/.."

presets=(release)
fuzz=no
windows=yes
lint=()
for argument in "$@"; do
  case $argument in
    --asan | --tsan) presets+=("${argument#--}") ;;
    --fuzz) fuzz=yes ;;
    --lint) lint=(--all) ;;
    --no-windows) windows=no ;;
    *) echo "unknown option $argument" >&2; exit 2 ;;
  esac
done
scripts/install-packages.sh
if [[ $windows == yes ]]; then
  # Whenever the rest leaves a processor idle; who needs the libraries waits for what is missing.
  scripts/install-packages.sh --windows
  mkdir -p build
  nice -n 19 scripts/build-windows-deps.sh >build/windows-deps.log 2>&1 &
fi

passed=0
failed=0
failures=()
# A failed step runs once more: on two busy cores Wine stops a program now and then. The summary
# names each step that passed only then, so that a test which fails often is seen and mended.
second=()
# What took how long.
begin() { echo "== $1"; part=$1 since=$SECONDS; }
end() { echo "-- $part: $((SECONDS - since)) s"; }
# One more thing that either succeeds or does not.
check() {
  begin "$1"
  shift
  if "$@"; then
    passed=$((passed + 1))
  elif echo "== $part, once more" && "$@"; then
    passed=$((passed + 1)) second+=("$part")
  else
    failed=$((failed + 1)) failures+=("$part")
  fi
  end
}
# The tests that failed, by ctest's output in a file: ctest ends with a list of number, name and
# reason in brackets.
failed_tests() { sed -nE 's/^[[:space:]]*[0-9]+ - (.*) \([A-Za-z].*\).*/\1/p' "$1"; }
# Runs ctest with the arguments behind the log's name, and counts.
tests() {
  local log=$1 bad all name
  shift
  ctest "$@" | tee "$log" || true
  read -r bad all <<<"$(sed -nE 's/.* ([0-9]+) tests failed out of ([0-9]+).*/\1 \2/p' "$log")"
  if [[ -z $all ]]; then
    failed=$((failed + 1)) failures+=("$part: not run to its end")
    return
  fi
  if [[ $bad -gt 0 ]]; then
    echo "== $part, the failed ones once more"
    ctest "$@" --rerun-failed --parallel 1 | tee "$log.again" || true
    while read -r name; do
      if grep -qE '[0-9]+ tests failed out of' "$log.again" &&
        ! failed_tests "$log.again" | grep -qxF "$name"; then
        bad=$((bad - 1)) second+=("$part: $name")
      else
        failures+=("$part: $name")
      fi
    done < <(failed_tests "$log")
  fi
  passed=$((passed + all - bad))
  failed=$((failed + bad))
}

for preset in "${presets[@]}"; do
  begin "build $preset"
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset"
  end
  begin "tests $preset"
  log=build/$preset/ctest.log
  # A sanitizer makes each call dear; the large load test is scaled to match.
  [[ $preset == release ]] || export CSI_PROXY_TEST_CALLS=10000
  # Sanitizers report here, those of the programs that tests start as well: one report is a failure.
  reports=build/$preset/reports
  rm -rf "$reports" && mkdir -p "$reports"
  tests "$log" --preset "$preset" --parallel 2
  for report in "$reports"/*; do
    [[ -e $report ]] || continue
    head -60 "$report"
    failed=$((failed + 1)) failures+=("$part: $report")
  done
  end
done

check "style" scripts/lint.sh "${lint[@]}"
check "quick start" scripts/quickstart.sh
check "Go module" integration/peers/go/run.sh
check "a new driver's first test" integration/packages/new_driver/run.sh
check "csi-sanity on the sample driver" integration/drivers/sample/sanity.sh
check "manifests" scripts/deploy/check.sh build/release/server/csi-proxy \
  build/release/client/sidecars/program/csi-node-sidecars
check "drivers' charts" scripts/deploy/helm/check.sh
check "alerts and dashboard" scripts/deploy/monitoring/check.sh build/release/server/csi-proxy \
  build/release/client/ctl/csi-proxyctl
check "images" integration/packages/oci/run.sh
check "foreign tools" integration/peers/foreign/run.sh
check "node sidecars" integration/peers/sidecars/run.sh
check "attacks" integration/service/hostile/run.sh --linux --short
check "installed libraries" integration/packages/consumer/run.sh
check "the README's program" scripts/check-readme.sh
check "drivers' pages" scripts/check-guides.sh
check "links" scripts/check-links.py

if [[ $windows == yes ]]; then
  begin "libraries for Windows"
  scripts/build-windows-deps.sh
  end
  begin "build windows"
  cmake --preset windows >/dev/null
  cmake --build --preset windows
  end
  begin "tests windows"
  tests build/windows/ctest.log --test-dir build/windows --output-on-failure
  end
  check "released Go clients" integration/peers/legacy_go/run.sh
  check "drivers' own code" integration/drivers/run.sh
  check "drivers' code as their pages change it" integration/drivers/run.sh --changed
  check "the Go release on the simulated node" integration/wine/node/peer.sh
  check "Go module under Wine" integration/peers/go/run.sh --windows
  check "attacks under Wine" integration/service/hostile/run.sh --windows --short
  check "images with the programs for Windows" integration/packages/oci/run.sh --windows
  check "installed libraries for Windows" integration/packages/consumer/run.sh --windows
  check "a release" integration/packages/release/run.sh
  integration/wine/run build/windows/service_installer/csi-proxy-service.exe --help >build/windows/service.help
  check "PowerShell scripts" scripts/bootstrap/check.sh build/release/server/csi-proxy build/windows/service.help \
    build/release/client/ctl/csi-proxyctl build/release/client/sidecars/program/csi-node-sidecars
fi

if [[ $fuzz == yes ]]; then check "fuzzers" scripts/fuzz.sh 60; fi

for one in "${second[@]}"; do echo "passed when run again: $one"; done
for one in "${failures[@]}"; do echo "failed: $one"; done
echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]

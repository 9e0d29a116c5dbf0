#!/usr/bin/env bash
# Builds and packs what integration/windows/run.ps1 runs on a real Windows node.
#
#   integration/windows/pack.sh [DIRECTORY]     default: build/packed, which is replaced
#
# The folder gets the programs, the tests that ctest runs under Wine with the sources that they read (tree.tar,
# tests.json), drivers' code, upstream's own tests, and the benchmark with the Go release.
#
# JOBS=N sets how many packages Go compiles in parallel (2).
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(realpath -m "${1:-build/packed}")
scripts/install-packages.sh
scripts/install-packages.sh --windows
scripts/build-windows-deps.sh
cmake --preset ci-windows >/dev/null
ninja -C build/windows
rm -rf "$out"
mkdir -p "$out"/{programs,drivers,upstream,bench}
. integration/support/go.sh

# build FOLDER OUTPUT [FLAG...] [PACKAGE]
build() { (cd "integration/$1" && CGO_ENABLED=0 GOOS=windows GOARCH=amd64 "$go" build -p "${JOBS:-2}" -ldflags=-s -o "$out/$2" "${@:3}"); }

echo "programs"
cp build/windows/{server/csi-proxy,server/csi-proxy-simulated,client/ctl/csi-proxyctl,service_installer/csi-proxy-service}.exe \
  build/windows/client/sidecars/program/csi-node-sidecars.exe build/windows/client/c/csi_proxy.dll "$out/programs/"
build service/hostile programs/hostile.exe

echo "tests"
# Leaves out fixtures, which start and end Wine's sessions, and tests that need Wine's double of the node,
# because they would find the machine itself.
ctest --test-dir build/windows --show-only=json-v1 | jq --arg root "$PWD" '
  def property(name): [.properties[]? | select(.name == name).value][0];
  {root: $root, tests: [
    .tests[] | select(property("FIXTURES_SETUP") == null and property("FIXTURES_CLEANUP") == null)
    | {name, timeout: ((property("TIMEOUT") // 120) | floor),
       environment: [(property("ENVIRONMENT") // [])[] | select(. != "")],
       command: [.command[] | select(test("/integration/wine/(node_)?run$") | not)],
       left_out: (if any(.command[]; endswith("/integration/wine/node_run")) then "needs the double of the node under Wine"
                  elif .command[0] | test("(\\.exe|/integration/wine/run)$") | not then "is a script for Linux"
                  else "" end)}]}' >"$out/tests.json"
jq -r '.tests[] | select(.left_out == "").command[0]' "$out/tests.json" | sort -u | while read -r program; do
  [[ -x $program ]] || { echo "$program is not built" >&2; exit 1; }
done
git archive --output="$out/tree.tar" HEAD
find build/windows -path build/windows/host -prune -o -path '*/CMakeFiles' -prune -o \
  -type f \( -name '*.exe' -o -name '*.dll' \) -print0 | tar --append --file="$out/tree.tar" --null --files-from=-

echo "drivers"
protoc -I. --include_imports --descriptor_set_out="$out/drivers/admin.pb" server/simulator/admin.proto
for program in azuredisk azurefile gcp_pd replay; do build "drivers/$program" "drivers/$program.exe"; done

echo "upstream's tests"
integration/support/go_release.sh --tests "$out/upstream/tests.exe"

echo "benchmark"
integration/support/go_release.sh "$out/bench/csi-proxy-go.exe" -ldflags='-s -w'
build clients/legacy_go bench/load.exe ./load
build bench/peer bench/peer.exe
jq -r '[.tests[].left_out] | "\(map(select(. == "")) | length) tests, \(map(select(. != "")) | length) left out"' "$out/tests.json"
du -sh "$out"

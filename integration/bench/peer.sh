#!/usr/bin/env bash
# Measures csi-proxy-simulated.exe, which has the main of csi-proxy.exe, against the Go server it replaces, under Wine, in turns in one run. Leave the
# machine alone meanwhile.
#
#   integration/bench/peer.sh [SECONDS_PER_TURN [TURNS]]
#
# What every turn gave stays in build/peer/wine.json.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/install-packages.sh --windows
scripts/build-windows-deps.sh
cmake --preset windows >/dev/null
ninja -C build/windows csi-proxy-simulated >/dev/null
out=$PWD/build/peer
mkdir -p "$out"
(
  cd integration/bench/peer
  export GOFLAGS=-mod=mod CGO_ENABLED=0
  GOOS=windows go build -ldflags='-s -w' -o "$out/csi-proxy-go.exe" github.com/kubernetes-csi/csi-proxy/cmd/csi-proxy
  # A module of its own: it speaks as the released client does, whatever the server is built with.
  (cd load && GOOS=windows go build -o "$out/load.exe" .)
  go build -o "$out/peer" .
)
cp build/windows/server/csi-proxy-simulated.exe "$out/csi-proxy-cpp.exe"
"$out/peer" wine "$PWD/integration/wine/run" "$out/csi-proxy-cpp.exe" "$out/csi-proxy-go.exe" "$out/load.exe" "$out/wine" "$@"

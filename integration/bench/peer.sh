#!/usr/bin/env bash
# Measures csi-proxy.exe against the Go server it replaces, under Wine, in turns in one run. Leave the
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
ninja -C build/windows csi-proxy >/dev/null
out=$PWD/build/peer
mkdir -p "$out"
(
  cd integration
  export CGO_ENABLED=0
  # The released server and the released client each in a module with what they ask for.
  (cd wine/node/peer && GOOS=windows go build -mod=mod -ldflags='-s -w' -o "$out/csi-proxy-go.exe" github.com/kubernetes-csi/csi-proxy/cmd/csi-proxy)
  (cd peers/legacy_go && GOOS=windows go build -o "$out/load.exe" ./load)
  go build -o "$out/peer" ./bench/peer
)
cp build/windows/server/csi-proxy.exe "$out/csi-proxy-cpp.exe"
"$out/peer" wine "$PWD/integration/wine/run" "$out/csi-proxy-cpp.exe" "$out/csi-proxy-go.exe" "$out/load.exe" "$out/wine" "$@"

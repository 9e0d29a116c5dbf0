#!/usr/bin/env bash
# Measures csi-proxy on Linux against a grpc-go server of filesystem v1 and a bare gRPC C++ echo
# server, in turns in one run, with the same Go client. Leave the machine alone meanwhile.
#
#   integration/bench/linux_peer.sh [SECONDS_PER_TURN [TURNS]]
#
# What every turn gave stays in build/peer/linux.json, the plot in build/peer/linux.svg.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/install-packages.sh --bench
[[ -f build/release/build.ninja ]] || cmake --preset release >/dev/null
ninja -C build/release csi-proxy echo_server >/dev/null
out=$PWD/build/peer
mkdir -p "$out"
(
  cd integration
  export CGO_ENABLED=0
  # The client is in the module of the released ones, whatever grpc-go the server is built with.
  (cd peers/legacy_go && go build -o "$out/load" ./load)
  go build -o "$out/grpc_go" ./bench/peer/grpc_go
  go build -o "$out/peer" ./bench/peer
)
"$out/peer" linux build/release/server/csi-proxy "$out/grpc_go" \
  build/release/integration/bench/echo_server "$out/load" "$out/linux" "$@"
gnuplot -e "data='$out/linux.dat'; plot='$out/linux.svg'" integration/bench/linux_peer.gp

#!/usr/bin/env bash
# Compares csi-proxy with other servers, in turns in one run. The machine should be idle otherwise.
#
#   integration/bench/run.sh [SECONDS_PER_TURN [TURNS]]         a bare gRPC C++ echo server, with C++ clients; and
#                                                               conversions, against protobuf copies
#   integration/bench/run.sh linux [SECONDS_PER_TURN [TURNS]]   a grpc-go server of filesystem v1, with a Go client
#   integration/bench/run.sh wine [SECONDS_PER_TURN [TURNS]]    the Go service v1.3.0, under Wine
#   integration/bench/run.sh calls                              counts the calls of Windows that each rpc makes, on nodes of
#                                                               10, 100 and 1,000 disks
#   integration/bench/run.sh storm [linux | wine] [TURNS]       many volumes, shares and targets together, on a node with
#                                                               real latencies: alone on Linux, and beside the Go
#                                                               service v1.3.0 under Wine
#
# CSI_PROXY_PEERS=NAME=PROGRAM.exe[,NAME=PROGRAM.exe]... adds further services under Wine, built elsewhere: see README.md.
#
# build/peer/{linux,wine,storm_linux,storm_wine}.json keep the figures of every turn, results.json here the medians,
# which `figures.py copy` copies to the pages.
set -euo pipefail
cd "$(dirname "$0")/../.."
what='echo'
case ${1-} in
  linux | wine | storm | calls) what=$1; shift ;;
esac
platforms=(linux wine)
if [[ $what == storm && ${1-} == [lw]* ]]; then
  platforms=("$1")
  shift
fi
out=$PWD/build/peer
mkdir -p "$out"
# build PRESET TARGET...
build() {
  [[ -f build/$1/build.ninja ]] || cmake --preset "$1" >/dev/null
  ninja -C "build/$1" "${@:2}" >/dev/null
}
# go_build FOLDER OUTPUT [FLAG...] [PACKAGE]: builds in the folder's module. The released clients' module builds
# clients, the Go release's own module its service.
go_build() { (cd "integration/$1" && CGO_ENABLED=0 go build -ldflags='-s -w' -o "$out/$2" "${@:3}"); }

if [[ $what == wine || ($what == storm && ${platforms[*]} == *wine*) ]] && [[ -z ${CSI_PROXY_PEERS-} ]]; then
  echo "$what: skips further services, because CSI_PROXY_PEERS names none"
fi

case $what in
  echo)
    build release csi-proxy echo_server load convert_bench
    build/release/integration/bench/load build/release/server/csi-proxy build/release/integration/bench/echo_server "$@"
    build/release/integration/bench/convert_bench --benchmark_min_time=0.5
    ;;
  calls)
    build release call_counts
    build/release/integration/bench/call_counts
    ;;
  linux)
    build release csi-proxy echo_server
    go_build bench/peer/grpc_go grpc_go
    go_build clients/legacy_go load ./load
    go_build bench/peer peer
    "$out/peer" linux build/release/server/csi-proxy "$out/grpc_go" build/release/integration/bench/echo_server \
      "$out/load" "$out/linux" "$@"
    ;;
  wine)
    scripts/install-packages.sh --windows
    scripts/build-windows-deps.sh
    build windows csi-proxy-simulated
    integration/support/go_release.sh "$out/csi-proxy-go.exe" -ldflags='-s -w'
    GOOS=windows go_build clients/legacy_go load.exe ./load
    go_build bench/peer peer
    cp build/windows/server/csi-proxy-simulated.exe "$out/csi-proxy-cpp.exe"
    "$out/peer" wine "$PWD/integration/wine/run" "$out/csi-proxy-cpp.exe" "$out/csi-proxy-go.exe" "$out/load.exe" "$out/wine" "$@"
    ;;
  storm)
    go_build bench/peer peer
    for platform in "${platforms[@]}"; do
      case $platform in
        linux)
          build release csi-proxy
          go_build clients/legacy_go storm ./storm
          ours=(build/release/server/csi-proxy)
          ;;
        wine)
          scripts/install-packages.sh --windows
          scripts/build-windows-deps.sh
          build windows csi-proxy csi_proxy_node_double
          integration/support/go_release.sh "$out/csi-proxy-go.exe" -ldflags='-s -w'
          GOOS=windows go_build clients/legacy_go storm.exe ./storm
          cp build/windows/server/csi-proxy.exe "$out/csi-proxy-cpp.exe"
          ours=("$PWD/integration/wine/node_run" "$out/csi-proxy-cpp.exe" "$out/csi-proxy-go.exe")
          ;;
        *) echo "storm: linux or wine, not $platform" >&2; exit 2 ;;
      esac
      client=$out/storm
      [[ $platform == linux ]] || client+=.exe
      "$out/peer" storm "$platform" "${ours[@]}" "$client" integration/bench/storm.textproto "$out/storm_$platform" "$@"
      integration/bench/figures.py record "storm_$platform" "$out/storm_$platform.json" "run.sh storm $platform${*:+ $*}"
    done
    ;;
esac
if [[ -f $out/$what.json ]]; then integration/bench/figures.py record "$what" "$out/$what.json" "run.sh $what${*:+ $*}"; fi

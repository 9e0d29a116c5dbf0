#!/usr/bin/env bash
# Builds and runs the benchmarks: the service against the bare echo server, and conversions against
# protobuf copies. Leave the machine alone meanwhile.
set -euo pipefail
cd "$(dirname "$0")/../.."
[[ -f build/release/build.ninja ]] || cmake --preset release >/dev/null
ninja -C build/release csi-proxy echo_server load convert_bench >/dev/null
build/release/integration/bench/load build/release/server/csi-proxy \
  build/release/integration/bench/echo_server "$@"
build/release/integration/bench/convert_bench --benchmark_min_time=0.5

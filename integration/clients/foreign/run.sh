#!/usr/bin/env bash
# Tests the service on its simulated node with programs that know nothing of this project: grpcurl lists,
# describes and calls; Prometheus' promtool reads the metrics, which contain those of the Go release.
#
#   integration/clients/foreign/run.sh
set -euo pipefail
cd "$(dirname "$0")/../../.."
scripts/install-packages.sh --foreign
ninja -C build/release csi-proxy >/dev/null
out=$PWD/build/foreign
rm -rf "$out"
mkdir -p "$out/clients"
. integration/support/go.sh
(cd integration/clients/foreign && CGO_ENABLED=0 "$go" build -o "$out/" .)
integration/support/go_release.sh --program "$out/release_metrics" integration/clients/foreign/release_metrics.go
GOBIN=$out CGO_ENABLED=0 "$go" install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3

sockets=$(mktemp -d /tmp/csi-proxy-foreign-XXXXXX)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
build/release/server/csi-proxy --host=simulated --socket-dir="$sockets" \
  --metrics-bind-address="127.0.0.1:$port" 2>"$out/service.log" &
server=$!
trap 'kill $server 2>/dev/null; wait $server; rm -rf "$sockets"' EXIT
pipe=$sockets/csi-proxy-filesystem-v1.sock
for _ in $(seq 200); do [[ -S $pipe ]] && break; sleep 0.05; done

passed=0
failed=0
# expect NAME TEXT COMMAND...: the command must succeed and print the text.
expect() {
  local name=$1 text=$2
  shift 2
  if "$@" >"$out/log" 2>&1 && grep -aqF -- "$text" "$out/log"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$name FAILED:"
    head -40 "$out/log"
  fi
}
call() { "$out/grpcurl" -plaintext -max-time 20 "$@"; }
# fails_with CODE COMMAND...: the command must fail with this code; grpcurl exits with 64 plus gRPC's code.
fails_with() {
  local code=0
  "${@:2}" || code=$?
  [[ $code -eq $1 ]]
}
# Watch prints its first answer and then runs into the deadline.
watch() { fails_with $((64 + 4)) call -max-time 2 -d '{"service": "v1.Filesystem"}' "unix://$pipe" grpc.health.v1.Health/Watch; }
path_exists() { call -d "{\"path\": \"$1\"}" "unix://$pipe" v1.Filesystem/PathExists; }

for service in grpc.health.v1.Health grpc.reflection.v1.ServerReflection \
  grpc.reflection.v1alpha.ServerReflection v1.Filesystem; do
  expect "list" "$service" call "unix://$pipe" list
  expect "describe $service" "service ${service##*.} {" call "unix://$pipe" describe "$service"
done
expect "describe an rpc" "rpc PathExists ( .v1.PathExistsRequest )" call "unix://$pipe" describe v1.Filesystem.PathExists
expect "describe a message" "SERVICE_UNKNOWN = 3;" call "unix://$pipe" describe grpc.health.v1.HealthCheckResponse
expect "describe another pipe's" "Symbol not found: v1.Disk" fails_with 1 call "unix://$pipe" describe v1.Disk
expect "health" '"status": "SERVING"' call "unix://$pipe" grpc.health.v1.Health/Check
expect "a service's health" '"status": "SERVING"' call -d '{"service": "v1.Filesystem"}' "unix://$pipe" grpc.health.v1.Health/Check
expect "another pipe's health" "Code: NotFound" fails_with $((64 + 5)) call -d '{"service": "v1.Disk"}' "unix://$pipe" grpc.health.v1.Health/Check
expect "watch" '"status": "SERVING"' watch
expect "a call" '"exists": true' path_exists 'C:\\var\\lib\\kubelet'
expect "a call that fails" "Code: InvalidArgument" fails_with $((64 + 3)) path_exists 'relative'
# Both versions of reflection on every pipe.
expect "reflection" "96 services of 24 pipes" "$out/foreign" "$sockets"

# Metrics after calls by clients with unusual names. As on Windows, the last part of a program's path counts.
scrape() { python3 -c 'import sys, urllib.request as u; sys.stdout.buffer.write(u.urlopen(sys.argv[1]).read())' "http://127.0.0.1:$port/metrics"; }
for name in 'with "quotes" {and} spaces' $'two\nlines' 'größe' $'not\xffUTF-8'; do
  ln "$out/grpcurl" "$out/clients/$name"
  "$out/clients/$name" -plaintext -d '{"path": "C:\\var\\lib\\kubelet"}' "unix://$pipe" v1.Filesystem/PathExists >/dev/null
done
expect "scrape" 'grpc_server_handled_total{grpc_code="InvalidArgument"' scrape
cp "$out/log" "$out/metrics"
for text in 'csi_proxy_connections{state="live"}' 'csi_proxy_calls_queued{group="volume"}' \
  'client_image="grpcurl"' 'client_image="with \"quotes\" {and} spaces"' 'client_image="two\nlines"' \
  'client_image="größe"' $'client_image="not\uFFFDUTF-8"'; do
  expect "metrics: $text" "$text" cat "$out/metrics"
done
# promtool's warnings count as failures.
check_metrics() { promtool check metrics <"$out/metrics" && echo accepted; }
expect "promtool" accepted check_metrics
expect "metrics of the Go release" ' 0 missing' "$out/release_metrics" "$pipe" "127.0.0.1:$port"
echo "foreign tools: $passed passed, $failed failed"
[[ $failed -eq 0 ]]

#!/usr/bin/env bash
# The unchanged Go clients of three releases call csi-proxy-simulated.exe under Wine: every call of
# the table of cases that the client has, in 20 rounds by default. v0.2.2 and v1.0.1 are the oldest
# that differ, and are built with the grpc-go and go-winio that each requires. From v1.1.2 to v1.3.0
# the client is one Git tree.
#
#   integration/clients/legacy_go/run.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/../../.."
rounds=${1:-20}
out=$PWD/build/legacy_go
wine=$PWD/integration/wine/run
mkdir -p "$out"
ninja -C build/release dump_cases >/dev/null
build/release/integration/dump_cases >"$out/cases.json"

server=
# wine/run execs the program, so that the program has the id of the shell's child.
stop() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
  server=
}
finish() {
  local code=$?
  stop
  "$wine" --session-stop
  exit $code
}
trap finish EXIT
"$wine" --session-start >/dev/null
# The simulated program has the main and pipes of csi-proxy.exe.
cp build/windows/server/csi-proxy-simulated.exe "$out/csi-proxy.exe"

# serve NAME [FLAG...]: starts a new service and waits until its pipes are open.
serve() {
  local name=$1
  shift
  "$wine" "$out/csi-proxy.exe" --host=simulated '--pipe-sddl=D:P(A;;GA;;;WD)' "$@" 2>"$out/$name.server.log" &
  server=$!
  for _ in $(seq 1 300); do
    ! grep -q ' serves ' "$out/$name.server.log" || break
    sleep 0.1
  done
}

# build RELEASE PACKAGE PROGRAM: builds with the clients of that release and the modules that it requires.
build() {
  cp integration/clients/legacy_go/go.mod "$out/$1.mod"
  cp integration/clients/legacy_go/go.sum "$out/$1.sum"
  go mod edit "-require=github.com/kubernetes-csi/csi-proxy/client@$1" "$out/$1.mod"
  case $1 in
    v0.2.2) old=(grpc@v1.27.0 winio@v0.4.14 protobuf@v1.4.1) ;;
    v1.0.1) old=(grpc@v1.27.0 winio@v0.4.16 protobuf@v1.4.1) ;;
    *) old=() ;;
  esac
  local module
  for module in "${old[@]}"; do
    go mod edit "-require=$(sed 's|^grpc|google.golang.org/grpc|; s|^winio|github.com/Microsoft/go-winio|; s|^protobuf|github.com/golang/protobuf|' <<<"$module")" "$out/$1.mod"
  done
  (cd integration/clients/legacy_go && CGO_ENABLED=0 GOOS=windows GOARCH=amd64 \
    go build "-modfile=$out/$1.mod" -mod=mod -tags "$1" -o "$out/$3.exe" "$2")
  go version -m "$out/$3.exe" | grep -qF "csi-proxy/client	$1" || { echo "$3 is not built with $1" >&2; exit 1; }
}

failed=0
for release in v0.2.2 v1.0.1 v1.3.0; do
  build "$release" ./clients "$release"
  # Each release gets a new service, so that its first call is the service's first.
  serve "$release"
  if timeout 600 "$wine" "$out/$release.exe" -cases "Z:$out/cases.json" -rounds "$rounds" >"$out/$release.log" 2>&1; then
    echo "client $release: $(tail -1 "$out/$release.log")"
  else
    failed=1
    echo "client $release FAILED:"
    tail -n 20 "$out/$release.log" "$out/$release.server.log"
  fi
  stop
  sleep 1
done
exit $failed

#!/usr/bin/env bash
# Tests the double with code that is proven on Windows: the Go release of the service and its library take the
# simulated node through the life of volumes, shares and targets, and then this service does. Each step must end
# the same way. The script records the WMI requests of each program in build/node_peer.
#
#   integration/wine/double/peer.sh [BUILD_DIRECTORY]
#
# csi-proxy and csi_proxy_node_double must be built in the build directory (default: build/windows).
set -euo pipefail
cd "$(dirname "$0")/../../.."
built=$(realpath "${1:-build/windows}")
out=$PWD/build/node_peer
here=$PWD/integration/wine/double/programs
wine=$PWD/integration/wine/node_run
export CSI_PROXY_NODE_DOUBLE=$built/integration/wine/double/csi_proxy_node_double.dll
rm -rf "$out"
mkdir -p "$out"
integration/support/go_release.sh "$out/release.exe"
. integration/support/go.sh
# The Go library in the place of our module.
library=github.com/kubernetes-csi/csi-proxy/v2
cp integration/go.{mod,sum} "$out/"
go mod edit "-dropreplace=$library" "$out/go.mod"
cat >>"$out/go.sum" <<END
$library v2.0.0-alpha.2 h1:4tHVP88AtKy+gYMXhigqeABRPk0L8tfwjhEexFxedUo=
$library v2.0.0-alpha.2/go.mod h1:2mPtxT6ipMdnG7+48BL8sp8u3cXa3/H68WYr/uj7TLs=
END
(cd "$here" && CGO_ENABLED=0 GOOS=windows GOARCH=amd64 "$go" build "-modfile=$out/go.mod" -mod=mod -o "$out/" ./library ./pipes)
cp "$built/server/csi-proxy.exe" "$out/ours.exe"
cp "$here/scenario.textproto" "$out/node.textproto"

trap '"$wine" --session-stop' EXIT
"$wine" --session-start >/dev/null

export CSI_PROXY_DOUBLE_SCENARIO=Z:$out/node.textproto
failed=0
# lead NAME PROGRAM [ARGUMENT...]: runs the steps with a program that takes a node through them.
lead() {
  local name=$1
  shift
  if "$@" >"$out/$name.log" 2>&1; then
    echo "$name: $(tail -1 "$out/$name.log")"
  else
    failed=1
    echo "$name FAILED:"
    grep -a FAILED "$out/$name.log" || tail -20 "$out/$name.log"
  fi
}
# serve NAME PROGRAM.exe [ARGUMENT...] -- [ARGUMENT...]: runs the steps over the pipes of a service. The
# arguments after -- are those of the program that runs the steps.
serve() {
  local name=$1 program=$2 arguments=()
  shift 2
  while [[ $1 != -- ]]; do
    arguments+=("$1")
    shift
  done
  shift
  CSI_PROXY_DOUBLE_RECORD=Z:$out/$name.record timeout 120 "$wine" "$out/$program" "${arguments[@]}" >"$out/$name.server.log" 2>&1 &
  local server=$!
  lead "$name" timeout 120 "$wine" "$out/pipes.exe" "$@"
  # timeout passes the signal on to the program.
  kill "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
}

CSI_PROXY_DOUBLE_RECORD=Z:$out/library.record lead library timeout 120 "$wine" "$out/library.exe"
serve release release.exe -- -release
serve ours ours.exe '--pipe-sddl=D:P(A;;GA;;;WD)' --
exit $failed

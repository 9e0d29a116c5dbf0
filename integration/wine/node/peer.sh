#!/usr/bin/env bash
# Holds the double against code that is proven on Windows: the Go release of the service and its
# library lead the simulated node through the life of volumes, shares and targets, then this service
# does. Each step must end the same way. The requests of each to WMI are recorded and compared. Then
# all three are led through what each driver calls for a volume, and how often they go to WMI is
# counted.
#
#   integration/wine/node/peer.sh [--write] [BUILD_DIRECTORY]
#
# In the build directory, build/windows unless it is given, csi-proxy and csi_proxy_node_double must be
# built. The records and the tables stay in build/node_peer; --write puts the tables into README.md.
set -euo pipefail
cd "$(dirname "$0")/../../.."
write=()
if [[ ${1-} == --write ]]; then
  write=(--write)
  shift
fi
built=$(realpath "${1:-build/windows}")
out=$PWD/build/node_peer
here=$PWD/integration/wine/node/peer
wine=$PWD/integration/wine/node_run
export CSI_PROXY_NODE_DOUBLE=$built/integration/wine/node/csi_proxy_node_double.dll
rm -rf "$out"
mkdir -p "$out"
(
  cd "$here"
  export GOFLAGS=-mod=mod CGO_ENABLED=0 GOOS=windows GOARCH=amd64
  go build -o "$out/release.exe" github.com/kubernetes-csi/csi-proxy/cmd/csi-proxy
  go build -o "$out/library.exe" ./library
  go build -o "$out/pipes.exe" ./pipes
)
cp "$built/server/csi-proxy.exe" "$out/ours.exe"
cp "$here/scenario.textproto" "$out/node.textproto"
cp "$here/drivers.textproto" "$out"
# A node where new volumes stay away until they are asked to come.
{ cat "$here/scenario.textproto"; echo 'behaviour { automount_disabled: true }'; } >"$out/manual.textproto"

finish() {
  local code=$?
  "$wine" --session-stop
  exit $code
}
trap finish EXIT
"$wine" --session-start >/dev/null

# on_node NAME SCENARIO PROGRAM [ARGUMENT...]: a program on a node of its own.
on_node() {
  CSI_PROXY_DOUBLE_RECORD=Z:$out/$1.record CSI_PROXY_DOUBLE_SCENARIO=Z:$out/$2.textproto \
    timeout 120 "$wine" "${@:3}"
}
failed=0
# lead NAME PROGRAM [ARGUMENT...]: the steps, by a program that leads a node through them.
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
# serve NAME SCENARIO PROGRAM.exe [ARGUMENT...] -- [ARGUMENT...]: the steps over the pipes of a service;
# what is behind -- goes to the program that leads.
serve() {
  local name=$1 scenario=$2 program=$3 arguments=()
  shift 3
  while [[ $1 != -- ]]; do
    arguments+=("$1")
    shift
  done
  shift
  env "CSI_PROXY_DOUBLE_RECORD=Z:$out/$name.record" "CSI_PROXY_DOUBLE_SCENARIO=Z:$out/$scenario.textproto" \
    timeout 120 "$wine" "$out/$program" "${arguments[@]}" >"$out/$name.server.log" 2>&1 &
  local server=$!
  CSI_PROXY_DOUBLE_RECORD=Z:$out/$name.record lead "$name" timeout 120 "$wine" "$out/pipes.exe" "$@"
  # timeout passes the signal on to the program.
  kill "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
}

lead library on_node library node "$out/library.exe"
serve release node release.exe -- -release
serve ours node ours.exe '--pipe-sddl=D:P(A;;GA;;;WD)' --
serve ours-manual manual ours.exe '--pipe-sddl=D:P(A;;GA;;;WD)' --
# These are the calls of each driver for a volume.
lead library-drivers on_node library-drivers drivers "$out/library.exe" -drivers
serve release-drivers drivers release.exe -- -release -drivers
serve ours-drivers drivers ours.exe '--pipe-sddl=D:P(A;;GA;;;WD)' -- -drivers
[[ $failed == 0 ]] || exit 1
python3 "$here/calls.py" --ours "$out/ours.record" "$out/ours-manual.record" \
  --theirs "$out/release.record" "$out/library.record" --at-least 80 --readme "$here/../README.md" "${write[@]}" | tee "$out/calls.md"
echo
python3 "$here/trips.py" --ours "$out/ours-drivers.record" --theirs "$out/release-drivers.record" \
  --library "$out/library-drivers.record" --readme "$here/../README.md" "${write[@]}" | tee "$out/trips.md"
[[ ${#write[@]} == 0 ]] || integration/bench/figures.py record trips "$out/trips.md" "integration/wine/node/peer.sh"

#!/usr/bin/env bash
# The Go package client/go: its tests, and through it every rpc of every version, answered by the
# library and by the service alike.
#
#   integration/peers/go_embedded/run.sh              on Linux
#   integration/peers/go_embedded/run.sh --windows    the Windows library and service, under Wine
set -euo pipefail
cd "$(dirname "$0")/../../.."
root=$PWD
windows=no
case ${1-} in
  "") ;;
  --windows) windows=yes ;;
  *) echo "unknown option $1" >&2; exit 2 ;;
esac
ninja -C build/release dump_cases >/dev/null

# What is under test stands side by side, as a driver would have it.
out=$PWD/build/go_embedded/linux
library=build/release/client/c/libcsi_proxy.so.1
service=build/release/server/csi-proxy
suffix=""
run=(env)
at=$out
if [[ $windows == yes ]]; then
  out=$PWD/build/go_embedded/windows
  library=build/windows/client/c/csi_proxy.dll
  service=build/windows/server/csi-proxy-simulated.exe
  suffix=.exe
  export GOOS=windows GOARCH=amd64
  run=("$PWD/integration/wine/run")
  at="Z:${out//\//\\}\\"
else
  ninja -C build/release csi_proxy_c csi-proxy >/dev/null
  at=$out/
fi
rm -rf "$out"
mkdir -p "$out/tests"
cp "$service" "$out/"
if [[ $windows == yes ]]; then
  cp build/windows/client/c/csi_proxy_simulated.dll "$out/csi_proxy.dll"
else
  # With the libraries that it loads.
  cmake --install build/release --component test_library --prefix "$out" >/dev/null
fi
build/release/integration/dump_cases >"$out/cases.json"
if [[ $windows == yes ]]; then
  trap '"${run[@]}" --session-stop' EXIT
  "${run[@]}" --session-start >/dev/null
fi

logs=$out
. integration/support/checks.sh
result() { tail -1 "$1"; }

vet() { (cd client/go && go vet ./...) && (cd integration/peers/go_embedded && go vet ./... && cd sidecars && go vet ./...) &&
  (cd client/go && GOOS=windows go vet ./sidecars) && echo clean; }
# The code of the storage group is what its proto makes.
generated() {
  rm -rf "$out/api"
  client/go/api/generate.sh "$out/api" && diff -r --exclude=generate.sh --exclude=*_test.go client/go/api "$out/api" && echo current
}
# The tests stand alone: one of them is about the library that stands beside a program.
build() {
  (cd client/go && go test -c -o "$out/tests/go.test$suffix" . && go test -c -o "$out/tests/node.test$suffix" ./csiproxytest &&
    go test -c -o "$out/tests/storage.test$suffix" ./api/storage/v1alpha1 &&
    go test -c -o "$out/tests/sidecars.test$suffix" ./sidecars &&
    go build -o "$out/mount$suffix" ./examples/mount) &&
    (cd integration/peers/go_embedded && go build -o "$out/go_embedded$suffix" .) && echo "without cgo"
}
# race NAME PACKAGE
race() { (cd client/go && CGO_ENABLED=1 go test -race -c -o "$out/tests/$1.test" "$2") && tests "$out/tests/$1.test"; }
# Beside the released code of CSI and of the kubelet, which protobuf would not take twice.
released() { (cd integration/peers/go_embedded/sidecars && go test -count=1 ./...); }
# A test that is skipped has shown nothing.
tests() {
  (cd client/go && CSI_PROXY_LIBRARY=$at$(basename "$library") CSI_PROXY_SERVICE=$at$(basename "$service") \
    timeout 600 "$@" -test.v) | tee "$out/tests.out" && ! grep -e '--- SKIP' "$out/tests.out" &&
    echo "$(grep -c '^--- PASS' "$out/tests.out") tests, none skipped"
}
program() {
  local name=$1
  shift
  (cd "$out" && timeout 600 "${run[@]}" "$out/$name$suffix" "$@")
}

check vet vet
check generated generated
CGO_ENABLED=0 check build build
check tests tests "${run[@]}" "$out/tests/go.test$suffix"
check nodes tests "${run[@]}" "$out/tests/node.test$suffix"
check storage tests "${run[@]}" "$out/tests/storage.test$suffix"
check sidecars tests "${run[@]}" "$out/tests/sidecars.test$suffix"
if [[ $windows == no ]]; then
  check race race race .
  check race-sidecars race race-sidecars ./sidecars
  check released released
fi
check embedded program go_embedded -mode=embedded -cases=cases.json -rounds=5
check both program go_embedded -mode=both -cases=cases.json -rounds=5 "-service=$at$(basename "$service")"
check example program mount -mode=embedded
# This machine as the node, through doubles of WMI and of Win32; the library is the one of nodes.
if [[ $windows == yes ]]; then
  "${run[@]}" --session-stop
  run=("$root/integration/wine/node_run")
  "${run[@]}" --session-start >/dev/null
  cp "$library" "$out/"
  check node program go_embedded -mode=node
fi
end_checks "Go package"

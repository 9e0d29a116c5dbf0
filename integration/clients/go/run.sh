#!/usr/bin/env bash
# Tests the Go module client/go: its own tests, every rpc of every version through its connection, its exports
# compared with the Go library that it replaces, and the program of wine/double/programs for that library, compiled
# with the module. Tests client/go/csiproxytest, which is a module without dependencies.
#
#   integration/clients/go/run.sh              on Linux, where only our module works
#   integration/clients/go/run.sh --windows    the Windows library and service under Wine; then, on a simulated Windows
#                                            node, the programs and csi-driver-smb's calls in shares/
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

# The service and the library under test are in one folder, as a driver would have them.
out=$PWD/build/go/linux
library=build/release/client/c/libcsi_proxy.so.1
service=build/release/server/csi-proxy
suffix=""
run=(env)
at=$out
if [[ $windows == yes ]]; then
  out=$PWD/build/go/windows
  library=build/windows/client/c/csi_proxy.dll
  service=build/windows/server/csi-proxy-simulated.exe
  suffix=.exe
  export GOOS=windows GOARCH=amd64
  run=("$PWD/integration/wine/run")
  at="Z:${out//\//\\}\\"
else
  ninja -C build/release csi_proxy_c csi-proxy csi-proxyctl >/dev/null
  at=$out/
fi
rm -rf "$out"
mkdir -p "$out/tests"
cp "$service" "$out/"
if [[ $windows == yes ]]; then
  cp build/windows/client/c/csi_proxy_simulated.dll "$out/csi_proxy.dll"
  cp build/windows/client/ctl/csi-proxyctl.exe "$out/"
else
  # The install includes the libraries that ours loads.
  cmake --install build/release --component test_library --prefix "$out" >/dev/null
fi
build/release/integration/dump_cases >"$out/cases.json"
if [[ $windows == yes ]]; then
  trap '"${run[@]}" --session-stop' EXIT
  "${run[@]}" --session-start >/dev/null
fi

logs=$out
. integration/support/checks.sh
. integration/support/go.sh
result() { grep -av ' audit ' "$1" | tail -1; }
complaint() { grep -a FAILED "$1" || tail -40 "$1"; }

vet() {
  local module
  for module in client/go client/go/csiproxytest integration/clients/go; do
    (cd $module && "$go" vet ./... && GOOS=windows GOARCH=amd64 "$go" vet ./... && [[ -z $(gofmt -l .) ]]) || return 1
  done
  echo "for Linux and for Windows"
}
# csiproxytest must import only the standard library. Its State must be what the simulator's proto declares.
alone() {
  cd client/go/csiproxytest
  go list -deps . | grep '[.].*/' | diff - <(go list .)
  GOOS='' go test -count=1 -v . | tee "$out/tests.out"
  if grep -e '--- SKIP' "$out/tests.out"; then return 1; fi
  echo "no module required"
}
# The storage group's code must be what its proto generates.
generated() {
  rm -rf "$out/api"
  client/go/api/generate.sh "$out/api" && diff -r --exclude=generate.sh --exclude=*_test.go client/go/api "$out/api" && echo current
}
# The tests have their own folder, because one of them is about a library beside the program.
build() {
  (cd client/go && go test -c -o "$out/tests/go.test$suffix" . && go build -o "$out/mount$suffix" ./examples/mount) &&
    (cd integration/clients/go && "$go" build -o "$out/calls$suffix" . && "$go" test -c -o "$out/tests/node.test$suffix" ./csiproxytest &&
    "$go" build -o "$out/shares$suffix" ./shares && "$go" build -o "$out/steps$suffix" ../../wine/double/programs/library) && echo "without cgo"
}
# race NAME PACKAGE: builds a package's tests with the race detector and runs them.
race() { (cd client/go && CGO_ENABLED=1 go test -race -c -o "$out/tests/$1.test" "$2") && tests "$out/tests/$1.test" -test.v; }
api() {
  (cd integration/clients/go/api && "$go" test -v -count=1 .) | tee "$out/api.out" &&
    grep -o 'alpha.*lines compared.*' "$out/api.out" | sort | paste -sd ';'
}
# tests COMMAND [FLAG...]: runs tests in the module's folder. Fails if a test is skipped.
tests() {
  (cd client/go && CSI_PROXY_LIBRARY=$at$(basename "$library") CSI_PROXY_SERVICE=$at$(basename "$service") \
    timeout 600 "$@") | tee "$out/tests.out" && ! grep -e '--- SKIP' "$out/tests.out" &&
    echo "$(grep -c '^--- PASS' "$out/tests.out") tests, none skipped"
}
# nodes COMMAND [FLAG...]: runs the tests of csiproxytest. On Windows, where the pipes have fixed names, one node
# exists at a time.
nodes() {
  (cd integration/clients/go/csiproxytest && PATH=$root/build/release/server:$root/build/release/client/ctl:$PATH WINEPATH=$at \
    timeout 600 "$@" -test.v ${suffix:+-test.parallel=1}) | tee "$out/tests.out" && ! grep -e '--- SKIP' "$out/tests.out" &&
    echo "$(grep -c '^--- PASS' "$out/tests.out") tests, none skipped"
}
program() {
  local name=$1
  shift
  (cd "$out" && timeout 600 "${run[@]}" "$out/$name$suffix" "$@")
}

# Every step but those with the race detector shares the packages that Go has compiled.
export CGO_ENABLED=0
check vet vet
check alone alone
check generated generated
check build build
check tests tests "${run[@]}" "$out/tests/go.test$suffix" -test.v
check nodes nodes "${run[@]}" "$out/tests/node.test$suffix"
if [[ $windows == no ]]; then
  check race race race .
  CGO_ENABLED=1 check race-library tests go test -race -v ./pkg/...
  check api api
  scenario=$root/integration/wine/double/programs/scenario.textproto
  export CSI_PROXY_LIBRARY=$out/$(basename "$library")
  check steps timeout 60 env "CSI_PROXY_SCENARIO=$scenario" "$out/steps" -documented
  unset CSI_PROXY_LIBRARY
fi
check embedded program calls -cases=cases.json
check example program mount -mode=embedded
# The node is this machine, through the doubles of WMI and Win32, with the library that nodes get.
if [[ $windows == yes ]]; then
  cp "$library" "$out/"
  "${run[@]}" --session-stop
  run=("$root/integration/wine/node_run")
  cp integration/wine/double/programs/scenario.textproto "$out/"
  "${run[@]}" --session-start >/dev/null
  export CSI_PROXY_DOUBLE_SCENARIO=Z:$out/scenario.textproto
  check steps timeout 120 "${run[@]}" "$out/steps.exe" -documented
  check shares program shares
fi
end_checks "Go module"

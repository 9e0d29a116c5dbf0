#!/usr/bin/env bash
# The module client/go/v2, which takes the place of the Go library csi-proxy/v2: its tests, what it
# exports compared with the library, and programs that use the library, compiled with both from one
# source: a driver's calls, and those that wine/node/peer leads the library through.
#
#   integration/peers/go_v2/run.sh              on Linux, where only this module can be
#   integration/peers/go_v2/run.sh --windows    the programs under Wine, on a simulated Windows node
set -euo pipefail
cd "$(dirname "$0")/../../.."
root=$PWD
scenario=$root/integration/wine/node/peer/scenario.textproto
# The one line that a driver changes.
replace="replace github.com/kubernetes-csi/csi-proxy/v2 => $root/client/go/v2"
export CGO_ENABLED=0
windows=no
case ${1-} in
  "") ;;
  --windows) windows=yes ;;
  *) echo "unknown option $1" >&2; exit 2 ;;
esac
out=$root/build/go_v2/linux
suffix=""
if [[ $windows == yes ]]; then
  out=$root/build/go_v2/windows
  suffix=.exe
  export GOOS=windows GOARCH=amd64
else
  ninja -C build/release csi_proxy_c >/dev/null
fi
rm -rf "$out"
mkdir -p "$out"

logs=$out
. integration/support/checks.sh
result() { grep -av ' audit ' "$1" | tail -1; }
complaint() { grep -a FAILED "$1" || tail -40 "$1"; }

# build MODULE PACKAGE NAME: with this module by the replace line.
build() {
  cp "$1/go.mod" "$out/$3.mod"
  cp "$1/go.sum" "$out/$3.sum"
  echo "$replace" >>"$out/$3.mod"
  (cd "$1" && go build -modfile="$out/$3.mod" -mod=mod -o "$out/$3$suffix" "$2") && echo "one line in go.mod"
}
check build-driver build integration/peers/go_v2 ./driver ours
library() { (cd integration/peers/go_v2 && go build -o "$out/upstream$suffix" ./driver) && echo "as go.mod has it"; }
[[ $windows == no ]] || check build-library-driver library
check build-steps build integration/wine/node/peer ./library ours-steps

if [[ $windows == no ]]; then
  export CSI_PROXY_LIBRARY=$root/build/release/client/c/libcsi_proxy.so.1
  vet() {
    (cd client/go/v2 && go vet ./... && GOOS=windows GOARCH=amd64 go vet ./... && [[ -z $(gofmt -l .) ]]) && echo "for Linux and for Windows"
  }
  # A test that is skipped has shown nothing.
  tests() {
    (cd client/go/v2 && CGO_ENABLED=1 timeout 300 go test -race -v ./...) | tee "$out/tests.out" &&
      ! grep -e '--- SKIP' "$out/tests.out" && echo "$(grep -c '^--- PASS' "$out/tests.out") tests, none skipped"
  }
  api() {
    (cd integration/peers/go_v2/api && go test -v -count=1 ./...) | tee "$out/api.out" &&
      grep -o 'alpha.*lines compared.*' "$out/api.out" | sort | paste -sd ';'
  }
  check vet vet
  check tests tests
  check api api
  check driver env "CSI_PROXY_SCENARIO=$scenario" timeout 60 "$out/ours"
  check steps env "CSI_PROXY_SCENARIO=$scenario" timeout 60 "$out/ours-steps" -documented
else
  cp build/windows/client/c/csi_proxy.dll "$scenario" "$out/"
  (cd client/go/v2 && go test -c -o "$out/nodes.exe" ./csiproxytest)
  export CSI_PROXY_DOUBLE_SCENARIO=Z:$out/scenario.textproto
  wine=$root/integration/wine/node_run
  trap '"$wine" --session-stop' EXIT
  "$wine" --session-start >/dev/null
  check driver timeout 120 "$wine" "$out/ours.exe"
  check library-driver timeout 120 "$wine" "$out/upstream.exe"
  check steps timeout 120 "$wine" "$out/ours-steps.exe" -documented
  # Beside the library; not the double's node, but their own.
  nodes() {
    timeout 300 "$wine" "$out/nodes.exe" -test.v | tee "$out/nodes.out" && ! grep -e '--- SKIP' "$out/nodes.out" &&
      echo "$(grep -c '^--- PASS' "$out/nodes.out") tests, none skipped"
  }
  cp build/windows/client/c/csi_proxy_simulated.dll "$out/csi_proxy.dll"
  check nodes nodes
fi
# aws-ebs tells by the text of an error that nothing is mounted.
check text grep -a "aws-ebs's pattern matches what is not mounted: true" "$out/driver.log"
end_checks "Go library's place"

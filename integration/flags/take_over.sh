#!/usr/bin/env bash
# Takes over services of the Go releases v0.2.2, v1.1.3 and v1.3.0 under Wine, with a command line for each way in
# which a release takes flags, and checks that csi-proxy serves with the same line.
#
#   git clone https://github.com/kubernetes-csi/csi-proxy FOLDER
#   integration/flags/take_over.sh FOLDER [BUILD_DIRECTORY]      default: build/windows
set -euo pipefail
cd "$(dirname "$0")/../.."
upstream=$(realpath "$1")
built=$(realpath "${2:-build/windows}")
out=$PWD/build/take_over
wine=$PWD/integration/wine/run
prefix=${CSI_PROXY_WINEPREFIX:-$HOME/.cache/csi-proxy/wineprefix}
node=$prefix/drive_c/take-over
rm -rf "$out"
mkdir -p "$out/ours"
cp "$built/server/csi-proxy.exe" "$built/service_installer/csi-proxy-service.exe" "$out/ours/"

build() {
  [[ ! -f $out/$1.exe ]] || return 0
  mkdir "$out/$1"
  git -C "$upstream" archive "$1" | tar x -C "$out/$1"
  local modules=vendor
  # v0.2.2 gets the x/sys and go-winio of v1.1.3. Its own x/sys has the service manager's callback in assembler, which
  # hangs when it is built with a Go of today. Its own go-winio looks for the pipes with regard to
  # case: Windows ignores case anyway, but Wine then finds no \??\pipe
  # (https://github.com/microsoft/go-winio/pull/280).
  [[ $1 != v0.2.2 ]] || {
    modules=mod
    (cd "$out/$1" && go mod edit -require=golang.org/x/sys@v0.11.0 -require=github.com/Microsoft/go-winio@v0.6.1)
  }
  (cd "$out/$1" && CGO_ENABLED=0 GOOS=windows GOARCH=amd64 \
    go build "-mod=$modules" -ldflags='-s -w' -o "$out/$1.exe" ./cmd/csi-proxy)
}
state() { "$wine" sc.exe query csiproxy </dev/null 2>/dev/null | tr -d '\r' | sed -n 's/ *STATE *: [0-9]* *//p'; }
await() { for _ in $(seq 100); do [[ $(state) != "$1"* ]] || return 0; sleep 0.2; done; return 1; }
# Prints the names of the metrics, except those of a Go program; nothing if the line has no address
# for metrics.
metrics() { { curl -s http://127.0.0.1:18888/metrics || true; } | sed -nE 's/^(grpc|process)(\w+).*/\1\2/p' | sort -u; }
ours() { timeout 180 "$wine" "$out/ours/csi-proxy-service.exe" "$@" </dev/null 2>&1 | tr -d '\r'; }

new_session() { "$wine" --session-stop; "$wine" --session-start >/dev/null; }

# take_over RELEASE LINE: fails, with what the installer said in $out/log, at the first step that fails.
take_over() {
  rm -rf "$node"
  mkdir "$node"
  cp "$out/$1.exe" "$node/csi-proxy.exe"
  "$wine" sc.exe create csiproxy "binPath=C:\\take-over\\csi-proxy.exe $2" </dev/null
  "$wine" sc.exe start csiproxy </dev/null
  await RUNNING || { echo "the Go release does not run"; return 1; }
  metrics >"$out/metrics"
  # The node restarts, because under Wine the process of a Go release goes on after the stop and keeps its pipes.
  new_session
  ours install --timeout=15s --directory 'C:\take-over' || return 1
  ours start --timeout=15s || return 1
  cmp "$out/ours/csi-proxy.exe" "$node/csi-proxy.exe" || return 1
  await RUNNING || return 1
  ours status || return 1
  # shellcheck disable=SC2016  # $ is the last line for sed
  [[ $2 != *:18888* || -s $out/metrics ]] && metrics | comm -23 "$out/metrics" - | sed 's/$/: is no longer served/;$q1'
}
trap '"$wine" --session-stop' EXIT
new_session
"$wine" sc.exe delete csiproxy </dev/null >/dev/null || true
failed=0
passed=0
while IFS=$'\t' read -r releases line; do
  for release in $releases; do
    build "$release"
    if take_over "$release" "$line" >"$out/log" && grep -qF -- "$line" "$out/log" && grep -q 'pipes: *[1-9]' "$out/log"; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      echo "$release $line: FAILED"
      cat "$out/log"
    fi
    ours uninstall --timeout=15s >/dev/null || true
    new_session
    "$wine" sc.exe delete csiproxy </dev/null >/dev/null || true
  done
done <<'LINES'
v0.2.2 v1.1.3 v1.3.0	-windows-service
v0.2.2 v1.1.3 v1.3.0	-windows-service=1
v0.2.2 v1.1.3 v1.3.0	-windows-service=false -windows-service=T
v0.2.2 v1.1.3 v1.3.0	--windows-service -log_file= -log_dir=
v0.2.2 v1.1.3 v1.3.0	-windows-service -logtostderr=F -alsologtostderr=1 -log_file=C:\take-over\csi-proxy.log -log_file_max_size=0
v0.2.2 v1.1.3 v1.3.0	-windows-service -v 1 --v=4 -log_file_max_size=1000001
v0.2.2 v1.1.3 v1.3.0	-windows-service -skip_headers -skip_log_headers=t -add_dir_header=FALSE -stderrthreshold=2 -vmodule=a=1,b*=2 -log_backtrace_at=a.go:1
v0.2.2 v1.1.3 v1.3.0	-windows-service word -no-such-flag
v0.2.2 v1.1.3 v1.3.0	-windows-service -- -no-such-flag
v0.2.2	-windows-service -kubelet-csi-plugins-path=C:\p -kubelet-pod-path C:\var\lib\kubelet\pods
v1.1.3 v1.3.0	-windows-service -kubelet-path=C:\k -working-dir=C:\a -working-dir C:\b -one_output
v1.3.0	-windows-service -require-privacy=f -metrics-bind-address= -metrics-bind-address=:18888
LINES
echo "$passed take-overs, $failed failed"
[[ $failed == 0 && $passed -gt 0 ]]

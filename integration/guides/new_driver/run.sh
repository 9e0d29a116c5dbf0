#!/usr/bin/env bash
# Follows a driver author's first minutes: in an empty directory beside this checkout, runs only what
# client/go/csiproxytest/README.md prints. A go.mod that requires the clients already must gain only csiproxytest.
# Without the programs, the test's error must name them. Also follows the first minutes of a driver that has never run
# on Windows, as client/drivers/new-driver.md prints them.
set -euo pipefail
cd "$(dirname "$0")/../../.."
root=$PWD
out=$root/build/new_driver
page=client/go/csiproxytest/README.md
rm -rf "$out"
mkdir -p "$out/driver"
ln -s "$root" "$out/csi-proxy"
# -count=1, because Go would reuse a test's result even if the programs have changed.
export GOWORK=off GOFLAGS=-count=1

# block N LANGUAGE [PAGE]: prints a page's Nth code block in that language.
block() {
  awk -v n="$1" -v fence="\`\`\`$2" '$0 == "```" { inside = 0 }
    inside { print; any = 1 }
    $0 == fence { inside = ++seen == n }
    END { exit !any }' "$root/${3:-$page}"
}
logs=$out
. integration/support/checks.sh
result() { tail -1 "$1"; }

cd "$out/driver"
# Adds the test to a driver that already imports everything that the test imports, except csiproxytest.
alone() {
  mkdir "$out/alone"
  cd "$out/alone"
  {
    printf 'package driver\n\nimport (\n'
    block 1 go | sed -nE 's/^\t(diskv1 )?("github.com\/kubernetes-csi|"google)/\t_ \2/p'
    echo ")"
  } >driver.go
  eval "$(block 1 sh | sed 2q)"
  go mod tidy
  cp go.mod before.mod
  cp go.sum before.sum
  block 1 go >partition_test.go
  eval "$(block 1 sh | sed 1,2d)"
  diff before.sum go.sum
  diff before.mod go.mod >gained || true
  cat gained
  # The difference must be three lines: the require line, the replace line and an empty one.
  [[ $(grep -c '^[<>]' gained) -eq 3 && $(grep -c '^> .*client/go/csiproxytest/v2' gained) -eq 2 ]]
  echo "a driver's go.mod gains csiproxytest, its go.sum nothing"
}
check alone alone
begin() {
  block 1 go >partition_test.go
  eval "set -x; $(block 1 sh)"
  cat go.mod
}
check begin begin
# Runs the test without the programs: it must fail and say what is missing.
without() {
  if env "PATH=$(dirname "$(command -v go)"):/usr/bin:/bin" go test ./... >"$out/test.out" 2>&1; then cat "$out/test.out"; return 1; fi
  grep -F 'exec: "csi-proxy": executable file not found in $PATH: the README of csiproxytest' "$out/test.out"
}
check without-the-programs without
commands=$(block 2 sh)
run() {
  local since=$SECONDS
  eval "set -x; $commands"
  echo "$((SECONDS - since)) s"
}
check commands run
# Sets the page's PATH for the checks below as well.
eval "$(sed -n '/^export PATH/p' <<<"$commands")"
# Checks that the calls reached the node.
did() {
  go test -v ./... | tee "$out/verbose.out"
  grep -q 'audit.*method=PartitionDisk.*code=OK' "$out/verbose.out"
  grep -q '^--- PASS: TestPartition' "$out/verbose.out"
  grep -c ' audit ' "$out/verbose.out"
}
check calls did
# Checks that the page's table lists every scenario, and no other.
scenarios() {
  diff <(sed -n '/^| name | cloud/,/^$/s/^| `\([^`]*\)`.*/\1/p' "$root/$page" | sort) <(csi-proxy --list-scenarios | awk '{ print $1 }' | sort)
  csi-proxy --list-scenarios | wc -l
}
check scenarios scenarios
# Runs with a vendor directory, as many drivers have.
vendored() {
  go mod vendor
  go test ./...
}
check vendored vendored
# Checks that a killed test leaves no node behind.
killed() {
  mkdir "$out/killed"
  cd "$out/killed"
  cp ../driver/go.mod ../driver/go.sum .
  printf 'package driver\n\nimport (\n\t"os"\n\t"testing"\n\t"syscall"\n\n\t"github.com/csi-proxy/csi-proxy/client/go/csiproxytest/v2"\n)\n
func TestKilled(t *testing.T) {\n\tos.WriteFile("directory", []byte(csiproxytest.NewNode(t, "").SocketDir()), 0o600)
\tsyscall.Kill(os.Getpid(), syscall.SIGKILL)\n}\n' >killed_test.go
  if go test ./...; then return 1; fi
  for _ in $(seq 50); do
    pgrep -f "socket-dir=$(cat directory)" >/dev/null || { rm -r "$(cat directory)"; echo "nothing is left"; return; }
    sleep 0.1
  done
  return 1
}
check killed killed

# Tests a driver that has never run on Windows, with the page's text only.
mkdir "$out/never_on_windows"
cd "$out/never_on_windows"
page=client/drivers/new-driver.md
never() {
  local commands called
  block 1 go >node.go
  block 2 go >node_test.go
  commands=$(block 1 sh)
  eval "set -x; $commands"
  set +x
  # Every call of the page must be made at least twice.
  go test -v ./... | tee "$out/never.out"
  grep -q '^--- PASS: TestVolume' "$out/never.out"
  for called in StageVolume CreateSymlink Rmdir UnstageVolume; do
    [[ $(grep -c "audit.*method=$called.*code=OK" "$out/never.out") -ge 2 ]] || { echo "$called was not called twice"; return 1; }
  done
  GOOS=windows go build ./...
  wc -l <node.go
}
check never-on-windows never

end_checks "a new driver"

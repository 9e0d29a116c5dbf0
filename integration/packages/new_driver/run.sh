#!/usr/bin/env bash
# Follows a driver author's first minutes: in an empty directory beside this checkout, runs only what
# client/go/README.md prints in its section on a driver's tests. The library goes into this run's own cache.
# Then does so for a driver of the Go library, for one that has never run on Windows (as
# client/drivers/new-driver.md prints), and without the library, where the error must name the command.
set -euo pipefail
cd "$(dirname "$0")/../../.."
root=$PWD
out=$root/build/new_driver
rm -rf "$out"
mkdir -p "$out/driver"
ln -s "$root" "$out/csi-proxy"
# Variables of the caller must not help.
unset CSI_PROXY_LIBRARY
GOCACHE=$(go env GOCACHE)
# Go caches test results even if the library has changed.
export GOCACHE GOWORK=off XDG_CACHE_HOME=$out/cache GOFLAGS=-count=1

# block N LANGUAGE [PAGE]: prints the Nth code block in that language of the section, or of a page.
block() {
  awk -v n="$1" -v fence="\`\`\`$2" -v whole="${3-}" '/^## / { here = /^## A driver.s tests/ }
    $0 == "```" { inside = 0 }
    inside { print; any = 1 }
    (here || whole) && $0 == fence { inside = ++seen == n }
    END { exit !any }' "$root/${3:-client/go/README.md}"
}
logs=$out
. integration/support/checks.sh
result() { tail -1 "$1"; }

cd "$out/driver"
block 1 go >mount_test.go
begin() { eval "set -x; $(block 1 sh)" && cat go.mod; }
check begin begin
three=$(block 2 sh)
[[ $(wc -l <<<"$three") -eq 3 ]] || { echo "the README has other than three commands: $three"; exit 1; }

# Runs the test without the library: it must fail and name the command that helps.
without() {
  eval "set -x; $(sed -n 1p <<<"$three")"
  set +x
  if go test ./... >"$out/test.out" 2>&1; then cat "$out/test.out"; return 1; fi
  grep -Fx "        	$(sed -n 2p <<<"$three")" "$out/test.out"
}
check without-the-library without
commands() {
  eval "set -x; $three" 2>&1 | tee "$out/commands.out"
  grep -F "$out/cache/csi-proxy/test-library/libcsi_proxy.so.1 is placed" "$out/commands.out"
  grep '^ok.*example.com/driver' "$out/commands.out"
}
check three-commands commands
# The calls reached the node, and the library needs nothing from the build folder.
did() {
  go test -v ./... | tee "$out/verbose.out"
  grep -q 'audit.*method=MountVolume.*code=OK' "$out/verbose.out"
  grep -q '^--- PASS: TestMount' "$out/verbose.out"
  if readelf -d "$out"/cache/csi-proxy/test-library/*.so.? | grep -F "runpath: [$root"; then return 1; fi
  grep -c ' audit ' "$out/verbose.out"
}
check calls did

# Runs with a vendor directory, as many drivers have; the directory lacks the command.
vendored() {
  go mod vendor
  rm -r "$out/cache/csi-proxy"
  go run -mod=readonly github.com/kubernetes-csi/csi-proxy/v2/csiproxytest/install
  go test ./...
}
check vendored vendored

# Refuses to install another file as the library, and keeps the old one.
another() {
  local path=$out/cache/csi-proxy/test-library/libcsi_proxy.so.1
  sum=$(sha256sum "$path")
  echo "not a library" >"$out/another"
  if go run -mod=readonly github.com/kubernetes-csi/csi-proxy/v2/csiproxytest/install -library "$out/another"; then return 1; fi
  [[ $(sha256sum "$path") == "$sum" && $(ls "$out/cache/csi-proxy") == test-library ]]
  echo "the one before stays"
}
check another-library another

# Tests a driver that uses the Go library and therefore has a replace line already.
mkdir "$out/library_driver"
cd "$out/library_driver"
cat >mount_test.go <<'END'
package driver

import (
	"context"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
)

func TestPartition(t *testing.T) {
	node := csiproxytest.NewNode(t, "")
	number := node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30})
	if _, err := node.Disk().PartitionDisk(context.Background(), &disk.PartitionDiskRequest{DiskNumber: number}); err != nil {
		t.Fatal(err)
	}
	state := node.State()
	if state.Disk(number).Style != csiproxytest.GPT {
		t.Errorf("%+v", state.Disk(number))
	}
}
END
library() {
  go mod init example.com/library-driver
  go mod edit -replace github.com/kubernetes-csi/csi-proxy/v2=../csi-proxy/client/go
  go mod tidy
  rm -r "$out/cache/csi-proxy"
  go run github.com/kubernetes-csi/csi-proxy/v2/csiproxytest/install
  go test ./...
}
check library library

# Tests a driver that has never run on Windows, with the page's text only.
mkdir "$out/never_on_windows"
cd "$out/never_on_windows"
page=client/drivers/new-driver.md
never() {
  local commands called
  block 1 go $page >node.go
  block 2 go $page >node_test.go
  commands=$(block 1 sh $page)
  rm -r "$out/cache/csi-proxy"
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

#!/usr/bin/env bash
# Runs the integration tests of kubernetes-csi/csi-proxy v1.3.0, unchanged, against csi-proxy.exe under Wine, on the
# node that wine/double simulates. Prints a table of the results.
#
#   integration/clients/upstream/run.sh [BUILD_DIRECTORY]      default: build/windows
#   integration/clients/upstream/run.sh --release [...]        against the Go release instead, on the same node
#
# Wine's own files have no links, which all tests of files but one need. So the tests work on the node's files, and a
# program named powershell.exe runs the tests' commands on the node.
set -euo pipefail
cd "$(dirname "$0")/../../.."
release=no
if [[ ${1-} == --release ]]; then
  release=yes
  shift
fi
built=$(realpath "${1:-build/windows}")
out=$PWD/build/upstream
wine=$PWD/integration/wine/node_run
export CSI_PROXY_NODE_DOUBLE=$built/integration/wine/double/csi_proxy_node_double.dll
rm -rf "$out"
mkdir -p "$out/bin"

# The tests that are skipped, with the reason. All others must pass.
skipped="TestAPIGroups	tests a server of its own, in its process
TestNewAPIGroup	upstream skips it: its expected files are out of date"

integration/support/go_release.sh --tests "$out/tests.exe" integration/clients/upstream/*_test.go
ln "$out/tests.exe" "$out/bin/powershell.exe"
protoc -I. --include_imports --descriptor_set_out="$out/admin.pb" server/simulator/admin.proto
cp integration/clients/upstream/scenario.textproto "$out/"
export CSI_PROXY_DOUBLE_SCENARIO=Z:$out/scenario.textproto UPSTREAM_DESCRIPTORS=Z:$out/admin.pb WINEPATH=Z:$out/bin
if [[ $release == yes ]]; then
  integration/support/go_release.sh "$out/csi-proxy.exe"
  flags=()
  skipped+=$'\nTestFilesystemAPIGroup\tthe double does not remove a tree by the calls of os.RemoveAll'
else
  cp "$built/server/csi-proxy.exe" "$out/"
  # The tests map a share of the node itself.
  flags=(--host=windows '--pipe-sddl=D:P(A;;GA;;;WD)' --allow-local-shares)
fi

trap '"$wine" --session-stop' EXIT
"$wine" --session-start >/dev/null
# The tests read the metrics at this address.
"$wine" "$out/csi-proxy.exe" "${flags[@]}" -metrics-bind-address=localhost:8888 >"$out/server.log" 2>&1 &
for _ in $(seq 300); do
  ! timeout 1 bash -c ': </dev/tcp/localhost/8888' 2>/dev/null || break
  sleep 0.1
done
failed=0
ENABLE_ISCSI_TESTS=TRUE timeout 900 "$wine" "$out/tests.exe" -test.v \
  "-test.skip=^($(cut -f1 <<<"$skipped" | paste -sd'|'))\$" >"$out/tests.log" 2>&1 || failed=1

# A test that consists of other tests is shown only if it failed.
{ tr -d '\r' <"$out/tests.log" | sed -nE 's/^ *--- (PASS|FAIL|SKIP): (\S+) .*/\2\t\1/p' | tac; echo "$skipped"; } |
  awk -F'\t' '
    BEGIN { says["PASS"] = "passed"; says["FAIL"] = "FAILED"; says["SKIP"] = "skipped" }
    # The log is reversed, so that inner tests come before the test that they belong to.
    { at = $1; if (!(at in inner) || $2 == "FAIL") { row[++rows] = sprintf("%-100s %s", $1, $2 in says ? says[$2] : "skipped: " $2); count[$2]++ }
      while (sub(/\/[^\/]*$/, "", at)) inner[at] = 1 }
    END { while (rows > 0) print row[rows--]
      printf "%d passed, %d failed, %d skipped\n", count["PASS"], count["FAIL"], length(row) - count["PASS"] - count["FAIL"]
      exit !(count["PASS"] > 0 && count["FAIL"] == 0) }' || failed=1
[[ $failed == 0 ]] || { grep -av 'Executing command' "$out/tests.log" | tail -n 60; tail -n 20 "$out/server.log"; }
exit $failed

#!/usr/bin/env bash
# Runs csi-sanity of kubernetes-csi/csi-test against the sample driver on a simulated node, once for each mode.
# Fails if a spec fails, or is skipped without a reason in sanity/skips.tsv. Needs csi-proxy, csi-proxyctl and
# sample_driver in build/release, and Go.
#
#   integration/sample/sanity.sh [--mode remote|embedded|both]
set -euo pipefail
cd "$(dirname "$0")/../.."
modes=(remote embedded)
case ${1:-}=${2:-both} in
  =both | --mode=both) ;;
  --mode=remote | --mode=embedded) modes=("$2") ;;
  *) echo "usage: sanity.sh [--mode remote|embedded|both]" >&2; exit 2 ;;
esac

here=$PWD/integration/sample
release=$PWD/build/release
out=$PWD/build/sanity
mkdir -p "$out"
for name in create remove check; do ln -sf "$here/sanity/node-path" "$out/$name-path"; done
export CSI_PROXYCTL=$release/client/ctl/csi-proxyctl

. integration/support/go.sh
GOBIN=$out CGO_ENABLED=0 "$go" install github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity@v5.6.0
run=$(mktemp -d /tmp/csi-sanity-XXXXXX)
started=()
stop() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  started=()
}
trap 'stop; rm -rf "$run"' EXIT

# start NAME PROGRAM [FLAG...]: starts a program and waits until it serves.
start() {
  local log=$out/$1.log
  shift
  "$@" 2>"$log" &
  started+=($!)
  for _ in $(seq 1 300); do
    ! grep -q ' serves ' "$log" || return 0
    sleep 0.1
  done
  cat "$log" >&2
  return 1
}

# outcome REPORT STATE: prints the specs with that state, each with its message.
outcome() {
  jq -r --arg state "$2" '.[].SpecReports[] | select(.State == $state) |
    "\(.Failure.Message // "" | split("\n")[0] // "")\t\(.ContainerHierarchyTexts + [.LeafNodeText] | join(" "))"' "$1"
}

# Prints the skipped cases with their reasons from the table. Fails if a reason is missing.
explain() {
  local report=$1 known=0 message count why
  while IFS=$'\t' read -r count message; do
    if why=$(awk -F'\t' -v m="$message" '$1 == m { print $2; found = 1 } END { exit !found }' "$here/sanity/skips.tsv"); then
      printf '  %2d skipped: %s: %s\n' "$count" "$message" "$why"
    else
      printf '  %2d skipped for no known reason: %s\n' "$count" "$message"
      known=1
    fi
  done < <(outcome "$report" skipped | cut -f1 | sort | uniq -c | sed -E 's/^ *([0-9]+) /\1\t/')
  return "$known"
}

failed=0
for mode in "${modes[@]}"; do
  pipes=$run/$mode
  mkdir "$pipes"
  endpoint=unix://$pipes/csi.sock
  driver=("$release/integration/sample/sample_driver" --mode="$mode" --endpoint="$endpoint")
  if [[ $mode == remote ]]; then
    start "$mode.service" "$release/server/csi-proxy" --host=simulated --socket-dir="$pipes"
    start "$mode.driver" "${driver[@]}" --socket-dir="$pipes"
  else
    start "$mode.driver" "${driver[@]}" --serve-directories="$pipes"
  fi
  export CSI_PROXY_SOCKET_DIR=$pipes
  report=$out/$mode.json
  rm -f "$report"
  "$out/csi-sanity" -ginkgo.no-color -ginkgo.json-report="$report" -csi.endpoint="$endpoint" \
    -csi.mountdir='C:\var\lib\kubelet\pods\sanity' -csi.stagingdir='C:\var\lib\kubelet\plugins\sanity' \
    -csi.createmountpathcmd="$out/create-path" -csi.createstagingpathcmd="$out/create-path" \
    -csi.removemountpathcmd="$out/remove-path" -csi.removestagingpathcmd="$out/remove-path" \
    -csi.checkpathcmd="$out/check-path" >"$out/$mode.log" 2>&1 || true
  echo "csi-sanity, $mode:"
  grep -hE '^(Ran [0-9]+ of|(SUCCESS|FAIL)! --)' "$out/$mode.log" | sed 's/^/  /'
  explain "$report" || failed=1
  outcome "$report" failed | sed 's/^/  failed: /'
  [[ $(jq '.[].SuiteSucceeded' "$report") == true ]] || failed=1
  # These directories can be removed only if all mounts and links are gone.
  for path in 'C:\var\lib\kubelet\pods\sanity' 'C:\var\lib\kubelet\plugins\sanity'; do
    [[ $("$out/check-path" "$path") == not_found ]] || { echo "  left behind: $path"; failed=1; }
  done
  stop
done
exit "$failed"

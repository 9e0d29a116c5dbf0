#!/usr/bin/env bash
# The drivers' own code, and the calls of those whose code cannot be had, against csi-proxy with a
# simulated node: a volume's whole life, each step confirmed in the node's state.
#
#   integration/drivers/run.sh             csi-proxy.exe under Wine, and on Linux what builds there
#   integration/drivers/run.sh --linux     on Linux alone
#   integration/drivers/run.sh --changed   the drivers as their pages in client/drivers change them
#
# JOBS=N sets how many packages Go compiles at once (2).
set -euo pipefail
cd "$(dirname "$0")/../.."
platforms=(linux windows)
programs=(azuredisk azurefile gcp_pd replay)
changed=no
case ${1-} in
  "") ;;
  --linux) platforms=(linux) ;;
  --changed) platforms=(windows) programs=(azuredisk azurefile gcp_pd) changed=yes ;;
  *) echo "unknown option $1" >&2; exit 2 ;;
esac
out=$PWD/build/drivers
wine=$PWD/integration/wine/run
rm -rf "$out"
mkdir -p "$out"
protoc -I. --include_imports --descriptor_set_out="$out/admin.pb" server/machine/simulated/admin.proto

# build PLATFORM PROGRAM: each is a module of its own, as the drivers' dependencies differ.
build() {
  local flags=()
  if [[ $changed == yes ]]; then
    integration/drivers/changed.sh "$2" "$out/changed/$2"
    flags=("-modfile=$out/changed/$2/go.mod" -mod=mod)
  fi
  (cd "integration/drivers/$2" && CGO_ENABLED=0 GOOS=$1 GOARCH=amd64 \
    go build -p "${JOBS:-2}" "${flags[@]}" -o "$out/$1/$2/program.exe" .)
}

failed=0
# run PLATFORM PROGRAM SERVICE COMMAND...: takes the steps, and shows those that fail.
run() {
  local platform=$1 program=$2 service=$3 at=$out/$1/$2
  shift 3
  if ! (cd "$at" && timeout 900 "$@" "$at/program.exe" "-service=$service" -descriptors=../../admin.pb -directory=. \
    >steps.log 2>driver.log); then
    failed=1
    echo "$program ($platform) FAILED:"
    grep -a '^FAILED' "$at/steps.log" || tail -20 "$at/steps.log" "$at/driver.log"
  fi
  sed -n "s/^total\t\(.*\)/\1\t$platform/p" "$at/steps.log" >>"$out/totals"
}

if [[ " ${platforms[*]} " == *" windows "* ]]; then
  trap '"$wine" --session-stop' EXIT
  "$wine" --session-start >/dev/null
fi
if [[ " ${platforms[*]} " == *" linux "* ]]; then
  ninja -C build/release csi-proxy >/dev/null
  build linux replay
  run linux replay "$PWD/build/release/server/csi-proxy" env
fi
if [[ " ${platforms[*]} " == *" windows "* ]]; then
  # The Go package would otherwise choose; the service is what the steps look at.
  [[ $changed == no ]] || export CSI_PROXY_MODE=remote
  for program in "${programs[@]}"; do
    build windows "$program"
    cp build/windows/server/csi-proxy.exe "$out/windows/$program/"
    run windows "$program" csi-proxy.exe "$wine"
  done
fi

awk -F'\t' 'BEGIN { printf "%-24s %-18s %-8s %6s %7s\n", "driver", "version", "platform", "steps", "passed" }
  { printf "%-24s %-18s %-8s %6d %7d\n", $1, $2, $5, $3, $4; steps += $3; passed += $4 }
  END { printf "%-24s %-18s %-8s %6d %7d\n", "all", "", "", steps, passed; exit steps == 0 || steps != passed }' \
  "$out/totals" || failed=1
exit $failed

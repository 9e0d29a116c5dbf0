#!/usr/bin/env bash
# Tests drivers' own code, and the calls of drivers whose code is not available, against csi-proxy with a
# simulated node: a volume's whole life, with every step confirmed in the node's state.
#
#   integration/drivers/run.sh             csi-proxy-simulated.exe under Wine, and on Linux what builds there
#   integration/drivers/run.sh --linux     on Linux only
#   integration/drivers/run.sh --changed   the drivers as changed by their pages in client/drivers: over the
#                                          pipes, and (* in the table) with the library, as HostProcess pods
#
# JOBS=N sets how many packages Go compiles in parallel (2).
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
protoc -I. --include_imports --descriptor_set_out="$out/admin.pb" server/simulator/admin.proto

# build PLATFORM PROGRAM: builds a program.
build() {
  local flags=() program=$2
  if [[ $changed == yes ]]; then
    [[ $2 == */embedded ]] || integration/drivers/changed.sh "$2" "$out/changed/$2"
    flags=("-modfile=$out/changed/${2%/embedded}/go.mod" -mod=mod)
  fi
  (cd "integration/drivers/$program" && CGO_ENABLED=0 GOOS=$1 GOARCH=amd64 \
    go build -p "${JOBS:-2}" "${flags[@]}" -o "$out/$1/$2/program.exe" .)
}

failed=0
# run PLATFORM PROGRAM SERVICE COMMAND...: runs the steps and prints those that fail.
run() {
  local platform=$1 program=$2 service=$3 at=$out/$1/$2
  shift 3
  if ! (cd "$at" && timeout 900 "$@" "$at/program.exe" "-service=$service" -descriptors=../../admin.pb -directory=. \
    >steps.log 2>driver.log); then
    failed=1
    echo "$program ($platform) FAILED:"
    grep -a '^FAILED' "$at/steps.log" || tail -n 20 "$at/steps.log" "$at/driver.log"
  fi
  sed -n "s/^total\t\(.*\)/\1\t$platform/p" "$at/steps.log" >>"$out/totals"
}

# run_on_machine PROGRAM: runs the steps as on a Windows node, where -machine names a PowerShell script. Here a
# substitute for powershell.exe calls the simulated node of a service.
run_on_machine() {
  local at=$out/machine/$1 sockets service
  mkdir -p "$at/bin"
  sockets=$(mktemp -d)
  cat >"$at/bin/powershell.exe" <<END
#!/usr/bin/env bash
while [[ \$1 != -Method ]]; do shift; done
exec "$PWD/build/release/client/ctl/csi-proxyctl" sim "\$2" --json -
END
  chmod +x "$at/bin/powershell.exe"
  build/release/server/csi-proxy --host=simulated --scenario=vsphere-pvscsi "--socket-dir=$sockets" 2>"$at/service.log" &
  service=$!
  for _ in $(seq 100); do
    ! grep -q ' serves ' "$at/service.log" || break
    sleep 0.1
  done
  if ! env "PATH=$at/bin:$PATH" "CSI_PROXY_SOCKET_DIR=$sockets" timeout 900 "$out/linux/$1/program.exe" -machine=machine.ps1 \
    "-descriptors=$out/admin.pb" "-directory=$at" >"$at/steps.log" 2>"$at/driver.log"; then
    failed=1
    echo "$1 (on a machine) FAILED:"
    grep -a '^FAILED' "$at/steps.log" || tail -n 20 "$at/steps.log" "$at/driver.log"
  fi
  kill "$service" && wait "$service" || true
  rm -r "$sockets"
  sed -n "s/^total\t\(.*\)/\1\tmachine/p" "$at/steps.log" >>"$out/totals"
}

if [[ " ${platforms[*]} " == *" windows "* ]]; then
  trap '"$wine" --session-stop' EXIT
  "$wine" --session-start >/dev/null
fi
if [[ " ${platforms[*]} " == *" linux "* ]]; then
  ninja -C build/release csi-proxy csi-proxyctl >/dev/null
  integration/drivers/sequences/run.py || failed=1
  build linux replay
  run linux replay "$PWD/build/release/server/csi-proxy" env
  run_on_machine replay
fi
if [[ " ${platforms[*]} " == *" windows "* ]]; then
  # The Go package must call the service, whose node the steps examine.
  [[ $changed == no ]] || export CSI_PROXY_MODE=remote
  for program in "${programs[@]}"; do
    build windows "$program"
    cp build/windows/server/csi-proxy-simulated.exe "$out/windows/$program/csi-proxy.exe"
    run windows "$program" csi-proxy.exe "$wine"
  done
fi
if [[ $changed == yes ]]; then
  # The node is this machine, as the doubles of WMI and Win32 show it.
  node=$PWD/integration/wine/node_run
  trap '"$wine" --session-stop; "$node" --session-stop' EXIT
  "$node" --session-start >/dev/null
  export CSI_PROXY_MODE=embedded
  # Without gcp-pd, which runs the same code in both modes.
  for program in azuredisk azurefile; do
    at=$out/windows/$program/embedded
    build windows "$program/embedded"
    cp build/windows/client/c/csi_proxy.dll "$at/"
    cp integration/wine/double/programs/scenario.textproto "$at/"
    CSI_PROXY_DOUBLE_SCENARIO=Z:$at/scenario.textproto run windows "$program/embedded" "" "$node"
    grep -aq '^csiproxy: the mode is embedded' "$at/driver.log" || { failed=1; echo "$program did not embed"; }
  done
fi

awk -F'\t' 'BEGIN { row = "%-24s %-17s %-15s %-8s %6s %7s\n"; printf row, "driver", "version", "node", "platform", "steps", "passed" }
  { printf row, $1, $2, $3, $6, $4, $5; steps += $4; passed += $5 }
  END { printf row, "all", "", "", "", steps, passed; exit steps == 0 || steps != passed }' \
  "$out/totals" || failed=1
exit $failed

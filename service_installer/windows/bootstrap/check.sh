#!/usr/bin/env bash
# Checks with the programs themselves what the tests of integration/powershell only record: that the
# programs know every flag of the scripts, and that the lines of the front page work under Wine in
# cmd, from an install without a word to the uninstall.
#
#   service_installer/windows/bootstrap/check.sh      the programs are those of build/release and build/windows
set -euo pipefail
cd "$(dirname "$0")/../../.."
windows=build/windows
wine=$PWD/integration/wine/run
place=$(mktemp -d)
trap '"$wine" --session-stop; rm -rf "$place"' EXIT
problems=0
complain() { echo "$1" >&2; problems=$((problems + 1)); }

# known WHERE TEXT FLAG...: complains of the flags that a help text lacks.
known() {
  local where=$1 text=$2 flag
  for flag in "${@:3}"; do grep -qE -- "(^|[ -])-?-${flag#"${flag%%[!-]*}"}([ =,]|\$)" <<<"$text" || complain "$where: there is no flag $flag"; done
}
code_of() { sed -z 's/<#[^#]*#>//g' "$1" | sed 's/^[[:space:]]*#.*//'; }
proxy=$(build/release/server/csi-proxy --help)
service=$("$wine" "$windows/service_installer/csi-proxy-service.exe" --help | tr -d '\r')
ctl=$(build/release/client/ctl/csi-proxyctl --help)$'\n'$(build/release/client/ctl/csi-proxyctl describe filesystem path-exists)
cd service_installer/windows
for script in bootstrap/*.ps1 node-check/proxy.ps1; do
  # Flags have two dashes for the installer and one for the service.
  mapfile -t flags < <(code_of "$script" | grep -oE -- '--[a-z][a-z-]+' | sort -u)
  known "$script" "$service"$'\n'"$proxy" "${flags[@]}"
  mapfile -t flags < <(code_of "$script" | grep -E '"-|-service' | grep -oE -- '"-[a-z][a-z_-]*=' | tr -d '"=' | sort -u)
  known "$script" "$proxy" "${flags[@]}"
done
go=$(sed -nE 's/.*flag\.[A-Za-z0-9]+\((&[a-z.]+, )?"([a-z-]+)".*/--\2 /p' ../../integration/{service/hostile/main,drivers/steps/report,clients/legacy_go/load/main}.go)
for script in ../../integration/windows/run.ps1 ../../integration/drivers/steps/machine.ps1; do
  mapfile -t flags < <(code_of "$script" | grep -vE 'docker\.exe|tar\.exe|\$inside = |test\.' | grep -oE -- '"--?[a-z][a-z_-]*[a-z]\b' | tr -d '"' | sort -u)
  known "$script" "$proxy"$'\n'"$service"$'\n'"$ctl"$'\n'"$go" "${flags[@]}"
done
# csi-proxy takes the command line of Rancher's agent.
read -ra wins < <(grep -oP '^    csi-proxy\.exe \K.*' bootstrap/README.md)
../../build/release/server/csi-proxy "${wins[@]}" --help >/dev/null || complain "csi-proxy does not take the command line of wins"
cd ../..

cp "$windows"/{server/csi-proxy,client/ctl/csi-proxyctl,service_installer/csi-proxy-service}.exe "$place"
"$wine" --session-start
for version in old new; do mkdir "$place/$version"; cp "$windows/server/csi-proxy.exe" "$place/$version"; echo >>"$place/$version/csi-proxy.exe"; done
while read -r line; do
  (cd "$place" && timeout 120 "$wine" cmd.exe /c "$line" </dev/null) || complain "$line: exit code $?"
done < <(grep -oP '^    \K(\.\\)?csi-proxy-service.*' README.md)
[[ $problems -eq 0 ]]

#!/usr/bin/env bash
# Checks the bootstrap scripts as far as it can be done without PowerShell: brackets and quotes balance,
# and every flag they give our programs is one that the program's --help names.
#
#   scripts/bootstrap/check.sh CSI_PROXY CSI_PROXY_SERVICE_HELP_FILE
set -euo pipefail
proxy_help=$("$1" --help)
service_help=$(cat "$2")
cd "$(dirname "$0")"
problems=0
complain() { echo "$1" >&2; problems=$((problems + 1)); }

for script in *.ps1; do
  # Comments go first; what is left must close what it opens.
  code=$(sed -z 's/<#[^#]*#>//g' "$script" | sed 's/^[[:space:]]*#.*//')
  for pair in '()' '{}' '[]'; do
    opened=$(tr -cd "${pair:0:1}" <<<"$code" | wc -c)
    closed=$(tr -cd "${pair:1:1}" <<<"$code" | wc -c)
    [[ $opened -eq $closed ]] || complain "$script: $opened ${pair:0:1} and $closed ${pair:1:1}"
  done
  quotes=$(sed 's/`"//g' <<<"$code" | tr -cd '"' | wc -c)
  [[ $((quotes % 2)) -eq 0 ]] || complain "$script: an odd number of quotes"

  # Our own flags have two dashes for the installer, and one for the service, as Go has them.
  for flag in $(grep -oE -- '--[a-z][a-z-]+' <<<"$code" | sort -u); do
    grep -q -- "$flag" <<<"$service_help" || complain "$script: csi-proxy-service has no flag $flag"
  done
  for flag in $(grep -E 'windows-service|-- -' <<<"$code" | sed 's/.* -- / /; s/.*binPath= / /' |
    grep -oE -- ' -[a-z][a-z_-]+' | tr -d ' ' | sort -u); do
    grep -qE -- "--${flag#-}( |\$)" <<<"$proxy_help" || complain "$script: csi-proxy has no flag $flag"
  done
done
for flag in $(grep 'args:' daemonset.yaml | grep -oE '"-[a-z][a-z_-]*' | tr -d '"'); do
  grep -qE -- "--${flag#-}( |\$)" <<<"$proxy_help" || complain "daemonset.yaml: csi-proxy has no flag $flag"
done
[[ $problems -eq 0 ]]

#!/usr/bin/env bash
# Fails if a program that runs on Windows nodes as SYSTEM contains any part of server/simulator.
#
#   integration/wine/no_simulator_test.sh CONTROL... -- FILE...   the controls are programs that do contain it
set -euo pipefail

# Lists the simulator's marks in a program: its types, its protos' files and a scenario.
parts() { grep -aoE '9simulat(ed|or)[0-9A-Z]|server/simulator/[a-z]+\.proto|azure-scsi' "$1" | sort -u; }

while [[ $1 != -- ]]; do
  [[ -n $(parts "$1") ]] || { echo "$1 holds the simulator, and it is not found"; exit 1; }
  echo "$(stat -c %s "$1") bytes: $1 with the simulator"
  shift
done
shift
for file in "$@"; do
  [[ -s $file ]] || { echo "there is no $file"; exit 1; }
  if parts "$file"; then
    echo "of the simulator are in $file"
    exit 1
  fi
  echo "$(stat -c %s "$file") bytes: $file"
done

#!/usr/bin/env bash
# Runs the service as a console program, as nssm and containers do: Ctrl-C drains and ends it.
#
#   integration/wine/console_test.sh CSI_PROXY_SIMULATED.exe
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
log=$(mktemp)
terminal=$(mktemp)
trap 'cat "$log" "$terminal"; rm -f "$log" "$terminal"' EXIT
# Waits up to $2 tenths of a second until the log contains $1.
says() { for _ in $(seq 1 "$2"); do ! grep -q "$1" "$log" || return 0; sleep 0.1; done; return 1; }
# Types Ctrl-C once the pipes are served, and again while the log shows no stop: a key typed before
# the console reads is lost. The program replaces its shell, because Ctrl-C would end the shell too.
type_ctrl_c() {
  says ' serves ' 300
  for _ in 1 2 3 4 5; do
    printf '\003'
    ! says 'stopping on' 20 || break
  done
  says '\] stopped' 300
}
type_ctrl_c | timeout 90 script -qec \
  "exec '$here/run' 'Z:$1' --host=simulated '--pipe-sddl=D:P(A;;GA;;;WD)' -logtostderr=false '-log_file=Z:$log'" /dev/null >"$terminal" 2>&1
grep -q 'stopping on Ctrl-C' "$log" && grep -q '\] stopped' "$log"

#!/usr/bin/env bash
# The service as a console program, as nssm and containers run it: Ctrl-C drains and ends it.
#
#   integration/wine/console_test.sh CSI_PROXY_SIMULATED.exe
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
log=$(mktemp)
terminal=$(mktemp)
trap 'cat "$log" "$terminal"; rm -f "$log" "$terminal"' EXIT
# Waits for a word in the log.
says() { for _ in $(seq 1 "$2"); do ! grep -q "$1" "$log" || return 0; sleep 0.1; done; return 1; }
# A terminal of its own, at which Ctrl-C is typed once the pipes are there; a key that came before the
# console read any is typed again. The program takes the shell's place, which the key would end too.
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

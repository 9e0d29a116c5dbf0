# shellcheck shell=bash disable=SC2154
# To be sourced: named checks and their count.
#
#   logs=FOLDER              the folder of the checks' output
#   check NAME COMMAND...    runs a command with errexit; prints the end of its output if it fails
#   end_checks WHAT          prints the count for scripts/test.sh; false if any check failed
#
# A script may redefine result, which prints what a successful log shows, and complaint, which prints the end of
# a failed one.
passed=0
failed=0
result() { :; }
complaint() { tail -40 "$1"; }

check() {
  local name=$1 log=$logs/${1//[ \/]/_}.log code since=$SECONDS
  shift
  set +e
  (set -e; "$@") >"$log" 2>&1
  code=$?
  set -e
  if [[ $code -eq 0 ]]; then
    passed=$((passed + 1))
    echo "ok      $name ($((SECONDS - since)) s) $(result "$log")"
  else
    failed=$((failed + 1))
    echo "FAILED  $name: $log"
    complaint "$log"
  fi
}

end_checks() {
  echo "$1: $passed passed, $failed failed"
  [[ $failed -eq 0 ]]
}

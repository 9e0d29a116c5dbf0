# shellcheck shell=bash disable=SC2154
# To be sourced: named checks, and their count.
#
#   logs=FOLDER              where what they print goes
#   check NAME COMMAND...    runs it, with an errexit of its own; of a failure the end is shown
#   end_checks WHAT          prints the count, as scripts/test.sh reads it; false if any failed
#
# A script may say more of a log: result prints what came of a success, complaint why it failed.
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

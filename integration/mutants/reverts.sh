#!/usr/bin/env bash
# reverts.sh [DIFF...]: applies each diff (default: all of reverts/) alone, builds the tests of the
# folders that it changes and prints those that fail. Exits with 1 if a diff does not apply or does
# not compile, or if nothing fails with it.
set -euo pipefail
. "$(dirname "$0")/tree.sh"
shopt -s nullglob
diffs=("$@")
[ $# -gt 0 ] || diffs=("$here"/reverts/*.diff)
prepare_tree
most_shown=3
wrong=0

# check DIFF: prints what came of it; whether a test failed.
check() {
  local diff=$1 files test tests
  files=$(git -C "$tree" apply --numstat "$diff" | cut -f 3) || { echo "  is not a diff"; return 1; }
  git -C "$tree" apply "$diff" 2>"$out/apply.log" ||
    { echo "  does not apply: $(head -1 "$out/apply.log")"; return 1; }
  tests=$(tests_of $files)
  [ -n "$tests" ] || { echo "  changes nothing that folders.tsv names"; return 1; }
  for test in $tests; do
    build_targets "$test" || { echo "  does not compile:"; grep -m 3 error "$out/build.log"; return 1; }
    run_test "$test" 600 && continue
    head -"$most_shown" <<<"$failed" | sed "s/^/  $test: /"
    return 0
  done
  echo "  NOTHING FAILS"
  return 1
}

for diff in "${diffs[@]}"; do
  diff=$(realpath "$diff")
  echo "$(basename "$diff" .diff)"
  check "$diff" || wrong=$((wrong + 1))
  git -C "$tree" checkout -qf
done
echo "${#diffs[@]} diffs, $wrong of them not noticed by a test"
[ $wrong = 0 ]

# Sourced: a copy of the tree that may be spoilt, its build, and the tests of a folder. The copy and
# all results lie below build/mutants.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(git -C "$here" rev-parse --show-toplevel)
out=$top/build/mutants
tree=$out/tree
build=$tree/build/release

# The copy takes what is in the work tree, but for files that git does not know.
prepare_tree() {
  mkdir -p "$out"
  exec 8>"$out/lock"
  flock -n 8 || { echo "another run works in $tree" >&2; exit 1; }
  local commit
  commit=$(git -C "$top" stash create)
  commit=${commit:-$(git -C "$top" rev-parse HEAD)}
  [ -d "$tree" ] || git clone -q --shared --no-checkout "$top" "$tree"
  git -C "$tree" checkout -qf --detach "$commit"
  (cd "$tree" && cmake --preset release >"$out/configure.log") ||
    { cat "$out/configure.log" >&2; exit 1; }
}

# tests_of FILE...: the test programs that cover the files' folders.
tests_of() {
  local file
  for file; do
    awk -F '\t' -v file="$file" '!/^#/ && index(file, $1 "/") == 1 { print $2 }' "$here/folders.tsv"
  done | tr ' ' '\n' | awk '!seen[$0]++'
}

build_targets() { nice -n 19 ninja -C "$build" "$@" >"$out/build.log" 2>&1 8>&-; }

# run_test NAME SECONDS: whether it passes; else `failed` holds the names of what failed. A test that
# fails for the load on the machine mostly passes when it is run again.
run_test() {
  local attempt
  for attempt in 1 2; do
    run_shards "$1" "$2" && return
  done
  return 1
}

# Tests mostly wait, so four parts of them run at a time.
run_shards() {
  local program shard=0 shards=4 pids=() pid passed=0
  program=$(find "$build" -name "$1" -type f -perm -u+x | head -1)
  [ -n "$program" ] || { echo "there is no test program $1" >&2; exit 1; }
  rm -f "$out"/test.*.log
  for ((shard = 0; shard < shards; ++shard)); do
    (
      # A mutant may ask for all the memory there is.
      ulimit -v 16000000 -c 0
      GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard exec nice -n 19 timeout -k 5 "$2" \
        "$program" --gtest_fail_fast >"$out/test.$shard.log" 2>&1 8>&-
    ) 2>/dev/null &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do
    { wait "$pid" || passed=1; } 2>/dev/null
    # What a test that crashed has left running; `timeout` leads a process group.
    kill -KILL -- "-$pid" 2>/dev/null || true
  done
  [ $passed = 0 ] && return
  failed=$(grep -hoE '^\[  FAILED  \] [A-Za-z0-9_/]+\.[A-Za-z0-9_/]+' "$out"/test.*.log |
    awk '!seen[$4]++ { print $4 }')
  # One that crashed or hung began and did not end.
  [ -n "$failed" ] || failed=$(for log in "$out"/test.*.log; do
    awk '/^\[ RUN      \]/ { open = $4 } /^\[       OK \]/ { open = "" }
         END { if (open) print open " (did not end)" }' "$log"
  done)
  failed=${failed:-$1}
  return 1
}

#!/usr/bin/env bash
# run.sh N [SEED] [FOLDER...]: judges mutants of the folders (default: all of folders.tsv) until N of
# the seed (default 1) have compiled and been run, those of earlier runs included. README.md says more.
set -euo pipefail
. "$(dirname "$0")/tree.sh"
wanted=${1:?how many mutants}
seed=${2:-1}
shift $(($# < 2 ? $# : 2))
folders=${*:-$(awk -F '\t' '!/^#/ && $3 != "reverts" { print $1 }' "$here/folders.tsv")}
results=$out/results.tsv
# A test that runs this much longer than it did without a mutant hangs.
patience=3
spare_seconds=30

prepare_tree
mkdir -p "$out/survivors"
touch "$results"
venv=$out/venv
if [ ! -x "$venv/bin/mutate" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q universalmutator==1.14.1
fi

echo "The tests without a mutant:"
declare -A seconds original
for test in $(for folder in $folders; do tests_of "$folder/"; done | sort -u); do
  build_targets "$test" || { tail -30 "$out/build.log"; exit 1; }
  began=$SECONDS
  run_test "$test" 600 || { echo "$test fails without a mutant: $failed"; exit 1; }
  seconds[$test]=$(((SECONDS - began) * patience + spare_seconds))
  echo "  $test passes in $((SECONDS - began)) s"
done

# judge MUTANT FILE OBJECT: sets `verdict` and `by`.
judge() {
  local mutant=$1 file=$2 object=$3 test
  by=-
  if [ "$object" != - ] && [ -z "${original[$file]:-}" ]; then
    build_targets "$object" || { tail -30 "$out/build.log"; exit 1; }
    original[$file]=$(sha256sum <"$build/$object")
  fi
  cp "$mutant" "$tree/$file"
  verdict=survived
  if [ "$object" != - ]; then
    build_targets "$object" || verdict="does not compile"
    [ "$verdict" = survived ] && [ "$(sha256sum <"$build/$object")" = "${original[$file]}" ] &&
      verdict=equivalent
  fi
  for test in $(tests_of "$file"); do
    [ "$verdict" = survived ] || break
    build_targets "$test" || { verdict="does not compile"; break; }
    run_test "$test" "${seconds[$test]}" || { verdict=killed; by=${failed%%$'\n'*}; }
  done
}

# count VERDICT: how many there are of this seed and these folders.
count() {
  awk -F '\t' -v seed="$seed" -v folders="$folders" -v verdict="$1" \
    '$1 == seed && $2 == folders && $4 == verdict' "$results" | wc -l
}

folders=$(echo $folders)
for ((index = 0; $(count killed) + $(count survived) < wanted; ++index)); do
  awk -F '\t' -v seed="$seed" -v folders="$folders" -v i="$index" \
    '$1 == seed && $2 == folders && $3 == i { found = 1 } END { exit !found }' "$results" && continue
  picked=$(python3 "$here/pick.py" "$venv/bin/mutate" "$tree" "$build" "$folders" "$seed" "$index" \
    "$out")
  [ -n "$picked" ] || continue
  IFS=$'\t' read -r mutant file object line what <<<"$picked"
  judge "$mutant" "$file" "$object"
  if [ "$verdict" = survived ]; then
    git -C "$tree" diff >"$out/survivors/$seed-$index.diff"
    by=survivors/$seed-$index.diff
  fi
  git -C "$tree" checkout -q -- "$file"
  printf '%s\t' "$seed" "$folders" "$index" "$verdict" "$file:$line" "$by" >>"$results"
  printf '%s\n' "$what" >>"$results"
  echo "$index $verdict $file:$line $by"
done

echo
echo "Seed $seed, $folders:"
for verdict in killed survived equivalent "does not compile"; do
  printf '%7d %s\n' "$(count "$verdict")" "$verdict"
done
echo "Survivors (in $out):"
awk -F '\t' -v seed="$seed" -v folders="$folders" \
  '$1 == seed && $2 == folders && $4 == "survived" { print $5 "  " $6 "\n    " $7 }' "$results"

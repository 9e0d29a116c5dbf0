#!/usr/bin/env bash
# Installs what is missing, builds, tests, and ends with one count.
#
#   scripts/test.sh                 finds most faults quickly, on Linux alone: unit and integration tests,
#                                    the style, the quick start, the README's program, links
#   scripts/test.sh --all           runs every step of the table below
#   scripts/test.sh --all --no-windows     without the steps that need mingw-w64 and Wine
#
# More options, for both:
#
#   --lint           clang-tidy reads every file, not a share
#   --asan, --tsan   the tests run with AddressSanitizer and UndefinedBehaviorSanitizer, or ThreadSanitizer, as well
#   --fuzz           the fuzzers run for a minute each as well
#   --within=MINUTES with --all: begins no step of the two lanes later, stops those that still run then, and lists both;
#                    for a machine without caches, where compiling other projects' Go code takes an hour. The steps
#                    begin elsewhere in the table each day, so that each of them runs on some day. Failed steps are
#                    repeated for ten minutes more
#
# In a chroot of another release of Debian, with its compilers and libraries, on the last commit:
#
#   scripts/test.sh --suite=NAME [OPTION...]      scripts/test.sh --suite=trixie --all
#   scripts/test.sh --suite=NAME -- COMMAND...    runs a command in the clone there instead
#
# The packages come from where apt gets them on this machine. The chroot stays in build/suites/NAME, and
# takes 5 GB with a build. Needs root. Warnings are no errors there: newer libraries deprecate
# functions that Debian 12's have.
#
# The output of each step stays in build/test.
set -euo pipefail
cd "$(dirname "$0")/.."

# in_suite NAME [OPTION...|-- COMMAND...]
in_suite() {
  local root=$PWD/build/suites/$1 within=(scripts/test.sh "${@:2}") mirror
  [[ ${2-} != -- ]] || within=("${@:3}")
  if [[ ! -f $root/ready ]]; then
    command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap >/dev/null; }
    mirror=$(apt-get indextargets --format "\$(REPO_URI)" 'Created-By: Packages' 'Label: Debian' | head -1)
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase --include=ca-certificates,git "$1" "$root" "$mirror" >"$root.log" || { tail "$root.log" >&2; exit 1; }
    # The copies tell apt how to reach the mirror, for example through a proxy.
    cp -r /etc/apt/{apt,auth}.conf.d "$root/etc/apt/" 2>/dev/null || true
    touch "$root/ready"
  fi
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  rm -rf "$root/src/.git/index.lock"
  if [[ -d $root/src ]]; then git -C "$root/src" fetch --quiet "$PWD" HEAD; else git clone --quiet --no-checkout "$PWD" "$root/src"; fi
  git -C "$root/src" checkout --quiet --force --detach "$(git rev-parse HEAD)"
  # The mounts disappear with the last process.
  # shellcheck disable=SC2016
  exec unshare --mount --pid --fork bash -euc '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    exec chroot "$1" /usr/bin/env -u TMPDIR HOME=/root CSI_PROXY_TEST_PRESET=release bash -c "cd /src && exec \"\$@\"" bash "${@:2}"
  ' bash "$root" "${within[@]}"
}
[[ ${1-} != --suite=?* ]] || in_suite "${1#*=}" "${@:2}"

tier=quick windows=yes sanitizers=() fuzz=no lint='' limit=''
for argument in "$@"; do
  case $argument in
    --all) tier=all ;;
    --no-windows) windows=no ;;
    --asan | --tsan) sanitizers+=("${argument#--}") ;;
    --fuzz) fuzz=yes ;;
    --lint) lint=--all ;;
    --within=[1-9]*) limit=$((${argument#*=} * 60)) ;;
    *) echo "unknown option $argument" >&2; exit 2 ;;
  esac
done
[[ $tier == all ]] && export CSI_PROXY_VET=yes || windows=no
out=build/test
rm -rf "$out"
mkdir -p "$out"
touch "$out"/{passed,failed,again,second,seconds,late}

# The steps: tier | lane | what is fetched from outside (scripts/reach.sh) | name | command. Steps of lane 0 run alone, in order, before the others. Then lanes 1 and
# 2 run side by side, each in order. Lane 1 never runs ninja, lane 2 has its own Wine prefix, and no folder of
# results is written by both.
table="
quick   | 0 | -   | tests                                   | ctest --preset release --parallel 2
quick   | 2 | go  | style                                   | scripts/lint.sh $lint
quick   | 2 | -   | quick start                             | scripts/quickstart.sh
quick   | 2 | -   | the README's program                    | integration/guides/check.sh --readme
quick   | 2 | -   | links                                   | scripts/check-links.py
quick   | 2 | -   | layers                                  | scripts/check-layers.py
all     | 0 | go  | node sidecars                           | integration/sidecars/run.sh
all     | 2 | go  | command lines beside Go's               | integration/flags/run.sh
all     | 0 | go  | attacks                                 | integration/service/hostile/run.sh --linux --short
all     | 2 | go  | Go module                               | integration/clients/go/run.sh
all     | 2 | go  | a new driver's first test               | integration/guides/new_driver/run.sh
all     | 2 | go  | csi-sanity on the sample driver         | integration/sample/sanity.sh
all     | 2 | go  | manifests, alerts                       | integration/manifests/check.sh
all     | 2 | go  | images                                  | integration/packages/oci/run.sh
all     | 2 | go  | foreign tools                           | integration/clients/foreign/run.sh
all     | 2 | npm | Node.js                                 | integration/clients/nodejs/run.sh
all     | 2 | -   | the drill for the person on call        | integration/guides/drill/run.sh
all     | 2 | -   | installed libraries                     | integration/guides/consumer/run.sh
all     | 2 | go  | drivers' pages                          | integration/guides/check.sh
windows | 1 | -   | tests for Windows                       | ctest --test-dir build/windows --output-on-failure
windows | 1 | go  | released Go clients                     | integration/clients/legacy_go/run.sh 2
windows | 1 | go  | the Go release's own tests              | integration/clients/upstream/run.sh
windows | 1 | go  | drivers' own code                       | integration/drivers/run.sh
windows | 1 | go  | drivers' code as their pages change it  | integration/drivers/run.sh --changed
windows | 1 | npm | Node.js for Windows                     | integration/clients/nodejs/run.sh --windows
windows | 1 | go  | the Go release on the simulated node    | integration/wine/double/peer.sh
windows | 2 | go  | a release                               | integration/packages/release/run.sh
windows | 2 | go  | Go module under Wine                    | integration/clients/go/run.sh --windows
windows | 2 | go  | attacks under Wine                      | integration/service/hostile/run.sh --windows --short
windows | 2 | go  | images with the programs for Windows    | integration/packages/oci/run.sh --windows
windows | 2 | -   | installed libraries for Windows         | integration/guides/consumer/run.sh --windows
windows | 2 | -   | PowerShell scripts against the programs | service_installer/windows/bootstrap/check.sh
"

# run LOG COMMAND [UNTIL]: shows the output as it comes, or, in a lane, only if the command fails. Stops the command
# when the script has run for UNTIL seconds.
run() {
  local words code=0 left=$((${3:-0} - SECONDS))
  read -ra words <<<"$2"
  [[ -z ${3-} ]] || words=(timeout --kill-after=60 "$((left > 0 ? left : 1))" "${words[@]}")
  if [[ ${lane-0} == 0 ]]; then
    "${words[@]}" </dev/null 2>&1 | tee "$1"
  else
    "${words[@]}" </dev/null >"$1" 2>&1 || code=$?
    [[ $code == 0 ]] || is_stopped $code "$1" || cat "$1"
    return $code
  fi
}
# Returns whether the limit has stopped a command with this exit code, before a test of it had failed.
is_stopped() { [[ -n $limit && $SECONDS -ge $limit && ($1 == 124 || $1 == 137) ]] && ! grep -q '\*\*\*[A-Z]' "$2"; }
log_of() { echo "$out/${1//[^A-Za-z0-9]/_}.log"; }
# ctest ends with a list of numbers, names and reasons in brackets.
failed_tests() { sed -nE 's/^[[:space:]]*[0-9]+ - (.*) \([A-Za-z].*\).*/\1/p' "$1"; }
# Prints how many tests ctest has run and how many have failed; nothing for another command.
counts() { sed -nE 's/.* ([0-9]+) tests failed out of ([0-9]+).*/\2 \1/p' "$1"; }
# Prints the seconds and the name of each test that ctest has run.
seconds() { sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9.]+) sec.*/\2 \1/p' "$1"; }

# step NAME COMMAND [NEEDS]: counts a step, or each test of ctest. `again` runs again what has failed.
step() {
  local since=$SECONDS log all=1 bad=0 code=0 counted='' end=''
  [[ ${lane-0} == 0 ]] || end=$limit
  if [[ -n $end && $SECONDS -ge $end ]]; then echo "$1" >>"$out/late"; return; fi
  log=$(log_of "$1")
  echo "== $1"
  run "$log" "$2" "$end" || code=$?
  if is_stopped $code "$log"; then
    echo "$1" >>"$out/late"
    echo "-- $1: stopped after $((SECONDS - since)) s"
    return
  fi
  [[ $code == 0 ]] || { bad=1; echo "$1|$2|${3-}" >>"$out/again"; }
  [[ $2 != ctest* ]] || counted=$(counts "$log")
  if [[ -n $counted ]]; then
    read -r all bad <<<"$counted"
    seconds "$log" >>"$out/seconds"
  else
    echo "$((SECONDS - since)) $1" >>"$out/seconds"
  fi
  echo $((all - bad)) >>"$out/passed"
  echo "-- $1: $([[ $bad == 0 ]] || echo "$bad FAILED, ")$((SECONDS - since)) s"
}
# again NAME COMMAND [NEEDS]: runs the failed step once more, alone, because on two busy cores Wine sometimes stops a
# program. The summary lists what passed only then, so that a test that fails often is noticed and mended. A step that
# fails where what it fetches is out of reach says so.
again() {
  local log name names=$1 command=$2 still=
  log=$(log_of "$1")
  if [[ $2 == ctest* && -n $(counts "$log") ]]; then
    names=$(failed_tests "$log" | sed "s|^|$1: |")
    command="$2 --rerun-failed --parallel 1"
  fi
  echo "== $1, once more"
  if ! run "$log.again" "$command" "${limit:+$((limit + 600))}"; then
    still=$names
    [[ $2 != ctest* || -z $(counts "$log.again") ]] || still=$(failed_tests "$log.again" | sed "s|^|$1: |")
  fi
  while read -r name; do
    if grep -qxF "$name" <<<"$still"; then
      missing=$([[ -z ${3-} ]] || scripts/reach.sh "$3") || true
      echo "$name${missing:+: $missing}" >>"$out/failed"
    else
      echo "$name" >>"$out/second"
      echo 1 >>"$out/passed"
    fi
  done <<<"$names"
}
# lane NUMBER: runs the requested steps of a lane: first those that run all tests beside the code, or that the quick tier
# has too. With --within, the others begin with another one each day.
lane() {
  local lane=$1 of at needs name command first=() rest=() row since=0
  while IFS='|' read -r of at needs name command; do
    read -r of at needs <<<"$of $at $needs"
    # The quick tier has no lanes, and shows all output as it comes.
    [[ $tier == all ]] || at=0
    [[ $at == "$lane" ]] || continue
    row="$needs|$name|$command"
    case $of$command in
      quick*) first+=("$row") ;;
      all*) [[ $tier != all ]] || rest+=("$row") ;;
      windows*ctest*) [[ $windows != yes ]] || first+=("$row") ;;
      windows*) [[ $windows != yes ]] || rest+=("$row") ;;
    esac
  done <<<"$table"
  [[ -z $limit || ${#rest[@]} == 0 ]] || since=$((10#$(date +%j) % ${#rest[@]}))
  for row in "${first[@]}" "${rest[@]:since}" "${rest[@]:0:since}"; do
    IFS='|' read -r needs name command <<<"$row"
    read -r name <<<"$name"
    read -r command <<<"$command"
    step "$name" "$command" "${needs#-}"
  done
}
build() {
  echo "== build $1"
  cmake --preset "$1" >/dev/null
  ninja -C "$2"
}
# Fails if a preset's sanitizers have left reports, from tests or from programs that tests start.
no_reports() {
  local report found=0
  for report in "build/$1/reports"/*; do
    [[ -e $report ]] || continue
    head -60 "$report"
    found=1
  done
  return $found
}

scripts/install-packages.sh
if [[ $windows == yes ]]; then
  # Builds the Windows libraries in the background at low priority. Later steps wait for them.
  scripts/install-packages.sh --windows
  nice -n 19 scripts/build-windows-deps.sh >build/windows-deps.log 2>&1 &
fi
build "${CSI_PROXY_TEST_PRESET-ci}" build/release
for preset in "${sanitizers[@]}"; do
  build "$preset" "build/$preset"
  rm -rf "build/$preset/reports"
  mkdir -p "build/$preset/reports"
  step "tests with $preset" "ctest --preset $preset --parallel 2"
  step "reports of $preset" "no_reports $preset"
done
lane 0
if [[ $windows == yes ]]; then
  scripts/build-windows-deps.sh
  build ci-windows build/windows
fi
if [[ $tier == all ]]; then
  # Everything is built already, and two ninja processes in one folder would corrupt its log.
  # shellcheck disable=SC2317
  (ninja() { :; }; export -f ninja; lane 1) &
  lane_1=$!
  # More than two rounds of the same calls seldom find a fault. The Wine tests come first.
  (export CSI_PROXY_WINEPREFIX=$HOME/.cache/csi-proxy/wineprefix-2 ROUNDS=2; renice -n 10 $BASHPID >/dev/null; lane 2)
  wait "$lane_1"
fi
[[ $fuzz == no ]] || step "fuzzers" "scripts/fuzz.sh 60"
while IFS='|' read -r name command needs; do again "$name" "$command" "$needs"; done <"$out/again"

sed 's/^/passed when run again: /' "$out/second"
sed 's/^/failed: /' "$out/failed"
sed "s|^|not run, or stopped, because $((limit / 60)) minutes had passed: |" "$out/late"
if grep -q 'cannot be fetched from here' "$out/failed"; then
  echo "Every other step works without. Those that fetch nothing:$(awk -F' *[|] *' '$3 == "-" { printf " %s;", $4 }' <<<"$table")"
fi
echo "the ten dearest, in seconds:"
sort -rn "$out/seconds" | sed -n 1,10p
echo "$(awk '{ n += $1 } END { print n + 0 }' "$out/passed") passed, $(wc -l <"$out/failed") failed"
[[ ! -s $out/failed ]]

#!/usr/bin/env bash
# Checks the style of tracked files: the format of all C++, all shell scripts by shellcheck, and by clang-tidy the C++
# files that have changed since the last release's tag, or all of them if there is no tag. Of more than 40 files
# clang-tidy reads another sixteenth each day, in about two minutes. Also checks that SECURITY.md covers the
# advisories for the linked versions, that the pages have the figures of integration/bench/results.json, GitHub's
# workflows and, with --all or CSI_PROXY_VET=yes, the benchmarks' Go programs.
#
#   scripts/lint.sh          as above
#   scripts/lint.sh --all    clang-tidy on every file: about half an hour
#   scripts/lint.sh --fix    formats, and checks nothing
#
# clang-tidy needs build/release with its generated headers. It does not read files for Windows.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/.."
shares=16
few=40
mode=${1:-}
case $mode in
  "" | --all | --fix) ;;
  *) echo "unknown option $mode" >&2; exit 2 ;;
esac
scripts/install-packages.sh --lint

# The generator's expected output is not formatted.
tracked() { git ls-files "$@" ':!codegen/testdata/golden'; }
if [[ $mode == --fix ]]; then
  tracked '*.cc' '*.h' '*.c' | xargs clang-format -i
  exit
fi
failed=0
tracked '*.cc' '*.h' '*.c' | xargs -P "$(nproc)" -n 60 clang-format --dry-run --Werror ||
  { failed=1; echo "scripts/lint.sh --fix formats them"; }

{ tracked '*.sh' && echo integration/wine/{run,node_run} .ci/run; } |
  xargs shellcheck --severity=warning --exclude=SC2034,SC2155 || failed=1
# A deadline or duration measured by the wall clock changes when that clock steps (steady_time.h). These files display
# the wall clock's time, or pass a deadline to gRPC, which converts it immediately.
shows_time='client/(ctl/(watch|selftest/selftest|diagnose/diagnose)|cpp/link|sidecars/(driver|metrics|socket_[a-z]*))\.cc|http_server|call_log|observability/(metrics|logging)|platform/log_function'
shows_time+='|rpc/pipe_server|csi_proxy/(call_context|node)\.h'
wall=$(tracked {server,client,service_installer,codegen}/'*.cc' {server,client}/'*.h' | grep -v -e '_test\.cc' -e testing |
  grep -vE "$shows_time" | xargs grep -nE 'absl::Now\(|system_clock::now' || true)
[[ -z $wall ]] || { failed=1; printf '%s\nuse SteadyTime::Now()\n' "$wall" >&2; }
scripts/check-advisories.py || failed=1
integration/bench/figures.py || failed=1
# Go compiles without cgo, as most steps of test.sh do, so that they share compiled packages.
export CGO_ENABLED=0
. integration/support/go.sh && "$go" run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 .github/workflows/*.yml ||
  { failed=1; echo "the workflows of GitHub were not checked, or actionlint found faults" >&2; }
# Takes a minute, because no other step builds all of the benchmarks' Go programs.
[[ $mode != --all && ${CSI_PROXY_VET-} != yes ]] || (cd integration && "$go" vet ./bench/... && [[ -z $(gofmt -l bench) ]]) || failed=1

commands=build/release/compile_commands.json
[[ -f $commands ]] || { echo "$commands is not there: cmake --preset release" >&2; exit 2; }
tracked '*.cc' | sort >build/release/lint.tracked
jq -r '.[].file' "$commands" | sed "s|^$PWD/||" | sort -u | comm -12 build/release/lint.tracked - >build/release/lint.known
release=$(git describe --tags --abbrev=0 2>/dev/null || true)
if [[ -n $release && $mode != --all ]]; then
  git diff --name-only --diff-filter=d "$release" -- '*.cc' | sort | comm -12 build/release/lint.known - >build/release/lint.files
  what="changed since $release"
else
  cp build/release/lint.known build/release/lint.files
  what="of all"
fi
if [[ $mode != --all && $(wc -l <build/release/lint.files) -gt $few ]]; then
  # Chosen by name, so that adding a file does not move the others.
  share=$((10#$(date +%j) % shares))
  what+=", share $((share + 1)) of $shares"
  while read -r file; do
    sum=$(cksum <<<"$file")
    [[ $((${sum%% *} % shares)) -ne $share ]] || echo "$file"
  done <build/release/lint.files >build/release/lint.share
  mv build/release/lint.share build/release/lint.files
fi
echo "clang-tidy: $(wc -l <build/release/lint.files) files ($what)"
# Each file is read alone: sources include what they use, and clang cannot read GCC's precompiled headers.
mkdir -p build/release/lint
jq 'map(.command |= gsub(" (-include [^ ]*/cmake_pch.hxx|-Winvalid-pch|-fpch-preprocess|-Wno-restrict|-Wno-stringop-[a-z]*)"; ""))' \
  "$commands" >build/release/lint/compile_commands.json
# Only this project's headers; protoc's output is below build/.
headers="^$PWD/(api|client|codegen|integration|server|service_installer)/"
# The analyzer takes ten times as long in GoogleTest's macros, and has found nothing there.
tidy() {
  case $2 in
    *_test.cc) set -- "$@" '--checks=-clang-analyzer-*' ;;
  esac
  clang-tidy -p build/release/lint --quiet "--header-filter=$1" "${@:2}" 2>/dev/null
}
export -f tidy
xargs -r -P "$(nproc)" -I FILE bash -c 'tidy "$@"' tidy "$headers" FILE <build/release/lint.files >build/release/lint.log ||
  { failed=1; grep -E -A4 '(warning|error):' build/release/lint.log || cat build/release/lint.log; }
exit $failed

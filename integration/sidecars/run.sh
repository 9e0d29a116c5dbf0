#!/usr/bin/env bash
# Compares csi-node-sidecars with the programs it replaces, node-driver-registrar and livenessprobe, in the same
# cases: with the kubelet's own plugin manager, which registers the sample driver, and with a driver in every
# state. README.md has the details.
#
#   integration/sidecars/run.sh [--program=FILE] [--record]
#     --program  another build of csi-node-sidecars, e.g. one with a sanitizer; it may be slower
#     --record   write the behaviour of upstream's programs into upstream.tsv
#
# CSI_PROXY_UPSTREAM_SIDECARS names a directory with the sources of upstream's modules, in
# node-driver-registrar/ and livenessprobe/. Without them, upstream.tsv replaces the programs.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=
record=()
for argument in "$@"; do
  case $argument in
    --program=*) program=$(realpath "${argument#*=}") ;;
    --record) record=(-record) ;;
    *) echo "unknown option $argument" >&2; exit 2 ;;
  esac
done
out=$PWD/build/sidecars
logs=$out/logs
rm -rf "$logs" "$out/ours"
mkdir -p "$logs" "$out/ours" "$out/upstream"
. integration/support/checks.sh
. integration/support/go.sh

# Builds this project's programs and the tests'; $program may replace csi-node-sidecars.
build() {
  ninja -C build/release csi-node-sidecars sample_driver >/dev/null
  ln -sf "${program:-$PWD/build/release/client/sidecars/program/csi-node-sidecars}" "$out/ours/csi-node-sidecars"
  ln -sf csi-node-sidecars "$out/ours/csi-node-driver-registrar"
  ln -sf csi-node-sidecars "$out/ours/livenessprobe"
  (cd integration/sidecars && CGO_ENABLED=0 "$go" build -ldflags='-s -w' -o "$out/" ./kubelet ./trial)
}

# Builds upstream's programs as its releases are built. Fails if the sources are unavailable.
build_upstream() {
  local sources=${CSI_PROXY_UPSTREAM_SIDECARS-} module
  local kept=$HOME/.cache/csi-proxy/sources/upstream-sidecars
  if [[ -z $sources ]]; then
    sources=$kept
    for module in node-driver-registrar@v2.17.0 livenessprobe@v2.20.0; do
      [[ -d $kept/${module%@*} ]] && continue
      local directory
      directory=$(cd / && "$go" mod download -json "github.com/kubernetes-csi/$module" 2>/dev/null | jq -r '.Dir // empty') || return 1
      [[ -n $directory ]] || return 1
      mkdir -p "$kept"
      cp -r --no-preserve=mode "$directory" "$kept/${module%@*}"
    done
  fi
  local command
  for command in node-driver-registrar/cmd/csi-node-driver-registrar livenessprobe/cmd/livenessprobe; do
    module=${command%%/*}
    (cd "$sources/$module" && CGO_ENABLED=0 "$go" build -ldflags '-extldflags "-static"' \
      -o "$out/upstream/" "./${command#*/}") || exit 1
  done
}
result() { tail -1 "$1"; }
complaint() { grep -A2 -E '^FAIL|^panic' "$1" || tail -20 "$1"; }

# Debian's gRPC is built without a sanitizer (see CMakePresets.json).
export TSAN_OPTIONS=${TSAN_OPTIONS-suppressions=$PWD/scripts/tsan.supp:ignore_noninstrumented_modules=1}

build
flags=(-ours "$out/ours" -tables integration/sidecars -kubelet "$out/kubelet"
  -sample-driver build/release/integration/sample/sample_driver -logs "$logs")
if build_upstream; then
  flags+=(-upstream "$out/upstream" "${record[@]}")
else
  echo "upstream's programs cannot be had here: upstream.tsv stands for them"
fi
check "the kubelet and drivers, case by case" "$out/trial" "${flags[@]}"
end_checks "sidecars"

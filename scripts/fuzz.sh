#!/usr/bin/env bash
# Builds the fuzzers with clang and runs each for SECONDS, by default 60.
#
#   scripts/fuzz.sh [SECONDS [FUZZER...]]      scripts/fuzz.sh 600 session path
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
only=("${@:2}")
scripts/install-packages.sh --fuzz
cmake --preset fuzz >/dev/null
if [[ ${#only[@]} -eq 0 ]]; then
  ninja -C build/fuzz fuzzers
  fuzzers=(build/fuzz/integration/service/fuzz/*_fuzzer)
else
  ninja -C build/fuzz "${only[@]/%/_fuzzer}"
  fuzzers=("${only[@]/#/build/fuzz/integration/service/fuzz/}")
  fuzzers=("${fuzzers[@]/%/_fuzzer}")
fi
# Writes the seeds of c_abi_fuzzer: a file per script with the cases of every version's rpcs.
c_abi_seeds() {
  local seeds=$1 paths i volume script group version method text path file type size
  mapfile -t paths < <(sed -nE 's/^ +"(.*)",$/\1/p' build/fuzz/client/c/generated/client/c/method_paths.h)
  declare -A place
  for i in "${!paths[@]}"; do place[${paths[i]}]=$i; done
  # Escaped for textproto; see CMakeLists.txt.
  volume='\\\\?\\Volume{00000000-c511-4c0d-9000-000000000005}'
  byte() { printf '%b' "\\x$(printf %x "$1")"; }

  while IFS=$'\t' read -r script group version method text; do
    text=${text//\$V/"$volume\\\\"}
    text=${text//\$W/"$volume"}
    path=$(printf '%s\n' "${paths[@]}" | grep -i "^/$version\.$group/$method\$")
    file=$group/$version/api.proto
    type=$(sed -nE "s/^  rpc $method\((\w+)\).*/\1/p" "api/$file")
    protoc -I api --encode="$version.$type" "$file" <<<"$text" >"$seeds.request"
    size=$(stat -c %s "$seeds.request")
    [[ $size -lt 256 ]] || continue
    { byte "${place[$path]}"; byte "$size"; cat "$seeds.request"; } >>"$seeds/$group-$version-$script"
  done < <(build/fuzz/integration/dump_cases | jq -r 'to_entries[] | .key as $script | .value |
    .group as $group | .versions[] as $version | .cases[] |
    [$script, $group, $version, .method, (.request | gsub("\n"; " "))] | join("\t")')
}
corpora=~/.cache/csi-proxy/fuzz
failed=0
for fuzzer in "${fuzzers[@]}"; do
  name=$(basename "$fuzzer")
  seeds=build/fuzz/seeds/$name
  rm -rf "$seeds"
  mkdir -p "$corpora/$name" "$seeds"
  case $name in
    c_abi_fuzzer) c_abi_seeds "$seeds" ;;
    scenario_fuzzer) cp server/simulator/scenarios/*.textproto "$seeds" ;;
  esac
  echo "== $name, $seconds s"
  "$fuzzer" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/$name-" "$corpora/$name" "$seeds" >"build/fuzz/$name.log" 2>&1 ||
    { tail -30 "build/fuzz/$name.log"; failed=1; }
  grep -E 'number_of_executed_units' "build/fuzz/$name.log" || true
done
exit $failed

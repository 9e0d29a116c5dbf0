#!/usr/bin/env bash
# Writes what c_abi_fuzzer begins with: the cases of every version's rpcs, a file for each script.
#
#   integration/service/fuzz/c_abi_seeds.sh BUILD_DIRECTORY SEEDS_DIRECTORY
set -euo pipefail
build=$1 seeds=$2
cd "$(dirname "$0")/../../.."
mapfile -t paths < <(sed -nE 's/^ +"(.*)",$/\1/p' "$build/client/c/generated/client/c/method_paths.h")
declare -A place
for i in "${!paths[@]}"; do place[${paths[i]}]=$i; done
# As textproto has it; see CMakeLists.txt.
volume='\\\\?\\Volume{00000000-c511-4c0d-9000-000000000005}'
byte() { printf "\\x$(printf %x "$1")"; }

mkdir -p "$seeds"
request=$(mktemp)
trap 'rm -f "$request"' EXIT
while IFS=$'\t' read -r script group version method text; do
  text=${text//\$V/"$volume\\\\"}
  text=${text//\$W/"$volume"}
  path=$(printf '%s\n' "${paths[@]}" | grep -i "^/$version\.$group/$method\$")
  file=$group/$version/api.proto
  type=$(sed -nE "s/^  rpc $method\((\w+)\).*/\1/p" "api/$file")
  protoc -I api --encode="$version.$type" "$file" <<<"$text" >"$request"
  size=$(stat -c %s "$request")
  [[ $size -lt 256 ]] || continue
  { byte "${place[$path]}"; byte "$size"; cat "$request"; } >>"$seeds/$group-$version-$script"
done < <("$build/integration/dump_cases" | jq -r 'to_entries[] | .key as $script | .value |
  .group as $group | .versions[] as $version | .cases[] |
  [$script, $group, $version, .method, (.request | gsub("\n"; " "))] | join("\t")')

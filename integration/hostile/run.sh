#!/usr/bin/env bash
# Attacks on csi-proxy, while eight honest clients work: README.md says which.
#
#   integration/hostile/run.sh [OPTION...]            csi-proxy.exe under Wine, and on Linux
#   integration/hostile/run.sh --linux [OPTION...]    on Linux alone
#   integration/hostile/run.sh --windows [OPTION...]  under Wine alone
#
# The options are the program's: -only=ATTACK, -seconds=N, -paths=N, -crashes=N.
set -euo pipefail
cd "$(dirname "$0")/../.."
platforms=(linux windows)
case ${1-} in
  --linux | --windows)
    platforms=("${1#--}")
    shift
    ;;
esac
out=$PWD/build/hostile
wine=$PWD/integration/wine/run
mkdir -p "$out/linux" "$out/windows"
protoc -I. --include_imports --descriptor_set_out="$out/admin.pb" server/machine/simulated/admin.proto
failed=0
for platform in "${platforms[@]}"; do
  (cd integration/hostile && CGO_ENABLED=0 GOOS=$platform go build -o "$out/$platform/hostile.exe" .)
  echo "On $platform:"
  cd "$out/$platform"
  case $platform in
    linux)
      ninja -C ../../release csi-proxy >/dev/null
      program=(./hostile.exe -service=../../release/server/csi-proxy)
      ;;
    windows)
      ninja -C ../../windows csi-proxy >/dev/null
      cp ../../windows/server/csi-proxy.exe .
      trap '"$wine" --session-stop' EXIT
      "$wine" --session-start >/dev/null
      program=("$wine" ./hostile.exe -service=csi-proxy.exe)
      ;;
  esac
  "${program[@]}" -descriptors=../admin.pb -directory=. "$@" || failed=1
  cd - >/dev/null
done
exit $failed

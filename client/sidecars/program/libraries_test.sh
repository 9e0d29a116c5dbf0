#!/usr/bin/env bash
# libraries_test.sh PROGRAM: it loads nothing of which it holds a copy. With gRPC once in the program
# and once beside it, the two would not know of each other.
set -euo pipefail
needed=$(objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }')
echo "$needed"
grep -q '^libc\.so' <<<"$needed"
if grep -E '^lib(grpc|gpr|upb|address_sorting|absl|protobuf|re2|cares|z\.)' <<<"$needed"; then
  echo "is loaded as well" >&2
  exit 1
fi

#!/usr/bin/env bash
# The C library exports the functions of its header and nothing else, and needs no library but those
# that are known. That none of these needs gRPC is for ../cpp/exports/no_grpc_test.sh.
#
#   client/c/exports_test.sh LIBRARY
set -euo pipefail
library=$1
header=$(dirname "$0")/../include/csi_proxy/csi_proxy.h

declared=$(sed -nE 's/^CSI_PROXY_API [^(]*\b(csi_proxy_[a-z_]+)\(.*/\1/p' "$header" | sort)
case $library in
  *.dll)
    headers=$(x86_64-w64-mingw32-objdump -p "$library")
    exported=$(sed -nE 's/^\t\[ *[0-9]+\] ([A-Za-z_?@].*)/\1/p' <<<"$headers" | sort)
    needed=$(sed -nE 's/^\tDLL Name: (.*)/\1/p' <<<"$headers")
    # Windows' own.
    allowed='^(advapi32|bcrypt|dbghelp|iphlpapi|kernel32|mswsock|msvcrt|ole32|oleaut32|shell32|user32|version|ws2_32|api-ms-win-[a-z0-9-]+|ucrtbase|ntdll)\.dll$'
    ;;
  *)
    exported=$(nm -D --defined-only "$library" | sed -E 's/.* T ([^@]*).*/\1/' | sort)
    needed=$(readelf -d "$library" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p')
    allowed="^(ld-linux.*|lib(absl_.*|asan|c|csi_proxy_(base|client_api|embedded|node)|fmt|gcc_s|m|prometheus-cpp-core|protobuf|spdlog|stdc\+\+|tsan|ubsan|z))\.so"
    ;;
esac
[[ $(wc -l <<<"$declared") -eq 8 ]] || { echo "the header declares: $declared" >&2; exit 1; }
if [[ $declared != "$exported" ]]; then
  diff <(echo "$declared") <(echo "$exported") | head -20 >&2 || true
  echo "(<: declared, >: exported)" >&2
  exit 1
fi
if grep -iEv "$allowed" <<<"$needed"; then echo "is needed, and should not be" >&2; exit 1; fi
echo "$(wc -l <<<"$exported") functions; needs" $needed

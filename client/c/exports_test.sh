#!/usr/bin/env bash
# A C library shows the functions of its header and nothing else, and needs no library but those that
# are known. That csi_proxy.h's are without gRPC is for ../exports/no_grpc_test.sh.
#
#   client/c/exports_test.sh LIBRARY
set -euo pipefail
library=$1
header=csi_proxy.h functions=8 ours=base\|client_api\|embedded\|node
case ${library##*/} in
  *sidecars*) header=csi_proxy_sidecars.h functions=6 ours=base\|sidecars ;;
esac
header=$(dirname "$0")/../include/csi_proxy/$header

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
    allowed="^(ld-linux.*|lib(absl_.*|asan|c|csi_proxy_($ours)|fmt|gcc_s|m|prometheus-cpp-core|protobuf|spdlog|stdc\+\+|tsan|ubsan|z))\.so"
    ;;
esac
[[ $(wc -l <<<"$declared") -eq $functions ]] || { echo "the header declares: $declared" >&2; exit 1; }
if [[ $declared != "$exported" ]]; then
  diff <(echo "$declared") <(echo "$exported") | head -20 >&2 || true
  echo "(<: declared, >: exported)" >&2
  exit 1
fi
if grep -iEv "$allowed" <<<"$needed"; then echo "is needed, and should not be" >&2; exit 1; fi
echo "$(wc -l <<<"$exported") functions; needs" $needed

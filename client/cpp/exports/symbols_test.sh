#!/usr/bin/env bash
# Tests the symbols that libraries and programs export and need.
#
#   client/cpp/exports/symbols_test.sh c LIBRARY              a C library exports the functions of its header, and
#                                                             needs only known libraries
#   client/cpp/exports/symbols_test.sh cpp DIRECTORY          libcsi_proxy_*.so export the classes of their headers
#   client/cpp/exports/symbols_test.sh no_grpc CONTROL FILE...
#                                                             the files neither contain nor load gRPC; CONTROL does
#   client/cpp/exports/symbols_test.sh static PROGRAM         the program loads no library of which it contains a
#                                                             copy, because two gRPCs would not share their state
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)

c() {
  local library=$1 declared headers exported needed allowed
  local header=$root/client/include/csi_proxy/csi_proxy.h

  declared=$(sed -nE 's/^CSI_PROXY_API [^(]*\b(csi_proxy_[a-z_]+)\(.*/\1/p' "$header" | sort)
  case $library in
    *.dll)
      headers=$(x86_64-w64-mingw32-objdump -p "$library")
      # Newer binutils print the ordinal and the hint, too: `[   0] +base[   1]  0000 csi_proxy_abi_version`.
      exported=$(sed -nE 's/^\t\[ *[0-9]+\]( \+base\[ *[0-9]+\] +[0-9a-f]+)? ([A-Za-z_?@][^ ]*)$/\2/p' <<<"$headers" | sort)
      needed=$(sed -nE 's/^\tDLL Name: (.*)/\1/p' <<<"$headers")
      # The libraries of Windows.
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
  echo "$(wc -l <<<"$exported") functions; needs ${needed//$'\n'/ }"
}

# Prints the exported symbols of a library, demangled and with their versions:
# `csi_proxy::Node::Windows()@@CSI_PROXY_2`.
exported() { nm -D --defined-only --demangle --with-symbol-versions "$1" | sed -nE 's/^[0-9a-f]+ [^A] //p'; }
# Prints the classes of functions and variables, and the namespaces of messages.
owners() {
  sed -E 's/@@.*//; s/\[abi:cxx11\]//; s/^(vtable|typeinfo|typeinfo name) for //; s/\(.*//; s/^(v[1-9][a-z0-9]*)::.*/\1/
          s/^(.*)::[^:]+$/\1/; s/^descriptor_table_.*/descriptor_table/' | sort -u
}
expect() {  # LIBRARY EXPECTED...
  local public
  public=$(exported "$directory/libcsi_proxy_$1.so" | { grep -E '@@CSI_PROXY_2$' || true; } | owners)
  if ! diff <(printf '%s\n' "${@:2}" | sort -u) <(echo "$public"); then
    echo "libcsi_proxy_$1.so (<: expected to be exported, >: exported)"
    failed=1
  fi
}
cpp() {
  local directory=$1 failed=0 versions library private soname
  versions=$(cd "$root/api" && echo */v*/ | tr ' ' '\n')
  expect base csi_proxy::{CallContext,SteadyTime}
  # Requests with secrets export their destructors, which overwrite the secrets.
  expect node csi_proxy::{Node,iscsi::{ConnectTarget,SetMutualChapSecret}Request,smb::NewSmbGlobalMappingRequest,storage::{StageShare,StageTarget}Request}
  expect testing csi_proxy::{SimulatedNode,simulated_node::State}
  expect client_api "$(echo csi_proxy  # Connect()
                       sed -E 's|(.*)/(.*)/|csi_proxy::\1::\2::Client|' <<<"$versions"
                       sed -E 's|.*/(.*)/|\1|' <<<"$versions"
                       echo descriptor_table)"
  expect client csi_proxy_remote_backend
  expect embedded csi_proxy_embedded_backend
  expect sidecars csi_proxy::Sidecars

  # A driver brings its own gRPC, either of Debian's two.
  for library in client sidecars; do
    if readelf -d "$directory/libcsi_proxy_$library.so" | grep -i 'NEEDED.*grpc'; then
      echo "libcsi_proxy_$library.so loads gRPC, which should be in it"
      failed=1
    fi
  done

  # To each other the libraries export more symbols, but none of absl, std, google, grpc or spdlog.
  for library in "$directory"/libcsi_proxy_*.so; do
    private=$(exported "$library" | grep -vE '@@CSI_PROXY_2$' || true)
    if grep -vE '^csi_proxy::.*@@CSI_PROXY_2_PRIVATE$' <<<"$private" | grep .; then
      echo "$library exports what is not its own"
      failed=1
    fi
    soname=$(readelf -d "$library" | sed -nE 's/.*\(SONAME\).*\[(.*)\]/\1/p')
    [[ $soname == "$(basename "$library").2" ]] || { echo "$library has the soname $soname"; failed=1; }
  done
  [[ $failed -eq 0 ]]
}

# Prints gRPC's functions and types that a file calls or defines, and the gRPC libraries that it loads, directly or
# not. The messages of health and reflection are in gRPC's namespace, but are not gRPC's.
grpc() {
  local messages='grpc::(health|reflection)::|N4grpc(6health|10reflection)|grpc_(health|reflection)'
  nm --demangle "$1" 2>/dev/null | grep -vE "$messages" | grep -E '\<grpc(_core)?::|\<grpc_[a-z]' || true
  nm --dynamic --demangle "$1" 2>/dev/null | grep -vE "$messages" | grep -E '\<grpc(_core)?::|\<grpc_[a-z]' || true
  grep -aoE 'N4grpc[0-9]+[a-z]+|9grpc_core' "$1" | grep -vE "$messages" | sort -u || true
  [[ $1 == *.@(exe|dll) ]] || ldd "$1" | grep -i grpc || true
}
no_grpc() {
  local file found
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
}

static() {
  local needed
  needed=$(objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }')
  echo "$needed"
  grep -q '^libc\.so' <<<"$needed"
  if grep -E '^lib(grpc|gpr|upb|address_sorting|absl|protobuf|re2|cares|z\.)' <<<"$needed"; then
    echo "is loaded as well" >&2
    exit 1
  fi
}

"$@"

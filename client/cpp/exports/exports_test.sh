#!/usr/bin/env bash
# Each library exports only its own symbols, and exports to programs only the symbols of their
# headers.
#
#   client/cpp/exports/exports_test.sh DIRECTORY   that of libcsi_proxy_*.so
set -euo pipefail
directory=$1
api=$(dirname "$0")/../../../api
failed=0

# The symbols that a library exports, demangled, each with its version:
# `csi_proxy::Node::Windows()@@CSI_PROXY_2`.
exported() { nm -D --defined-only --demangle --with-symbol-versions "$1" | sed -nE 's/^[0-9a-f]+ [^A] //p'; }
# The classes, and namespaces of messages, that functions and variables belong to.
owners() {
  sed -E 's/@@.*//; s/\[abi:cxx11\]//; s/^(vtable|typeinfo|typeinfo name) for //; s/\(.*//; s/^(v[1-9][a-z0-9]*)::.*/\1/
          s/^(.*)::[^:]+$/\1/; s/^descriptor_table_.*/descriptor_table/' | sort -u
}
expect() {  # LIBRARY EXPECTED
  local public
  public=$(exported "$directory/libcsi_proxy_$1.so" | { grep -E '@@CSI_PROXY_2$' || true; } | owners)
  if ! diff <(sort -u <<<"$2") <(echo "$public"); then
    echo "libcsi_proxy_$1.so (<: expected to be exported, >: exported)"
    failed=1
  fi
}

versions=$(cd "$api" && echo */v*/ | tr ' ' '\n')
expect base csi_proxy::CallContext
# The requests have secrets, which their destructors overwrite.
expect node 'csi_proxy::Node
csi_proxy::iscsi::ConnectTargetRequest
csi_proxy::iscsi::SetMutualChapSecretRequest
csi_proxy::smb::NewSmbGlobalMappingRequest'
expect testing 'csi_proxy::SimulatedNode
csi_proxy::simulated_node::State'
expect client_api "$(sed -E 's|(.*)/(.*)/|csi_proxy::\1::\2::Client|' <<<"$versions"
                     sed -E 's|.*/(.*)/|\1|' <<<"$versions"
                     echo descriptor_table)"
expect client csi_proxy_remote_backend
expect embedded csi_proxy_embedded_backend
expect sidecars csi_proxy::Sidecars

# A driver has its own gRPC, which may be either of Debian's two.
for library in client sidecars; do
  if readelf -d "$directory/libcsi_proxy_$library.so" | grep -i 'NEEDED.*grpc'; then
    echo "libcsi_proxy_$library.so loads gRPC, which should be in it"
    failed=1
  fi
done

# Among themselves the libraries show more, but nothing of others': of absl, std, google, grpc, spdlog.
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

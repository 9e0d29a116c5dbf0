#!/usr/bin/env bash
# Tests csi_proxy as another project uses it: installed, moved elsewhere, found by CMake and pkg-config, built
# against and run. Also tests the packages that CPack makes.
#
#   integration/guides/consumer/run.sh              on Linux
#   integration/guides/consumer/run.sh --windows    cross-built with mingw-w64, run under Wine
set -euo pipefail
cd "$(dirname "$0")/../../.."
root=$PWD
source=$root/integration/guides/consumer
symbols=$root/client/cpp/exports/symbols_test.sh
case ${1-} in
  "") preset=release ;;
  --windows) preset=windows ;;
  *) echo "unknown option $1" >&2; exit 2 ;;
esac
scripts/install-packages.sh ${1+"$1"}
[[ $preset == release ]] || scripts/build-windows-deps.sh >/dev/null
out=$root/build/consumer/$preset
prefix=$out/installed
build=$out/build
rm -rf "$out"
mkdir -p "$out/logs" "$out/sockets"
chmod 700 "$out/sockets"

if [[ $preset == windows ]]; then
  exe=.exe
  simulated=csi-proxy-simulated
  run=("$root/integration/wine/run")
  serve=('--pipe-sddl=D:P(A;;GA;;;WD)')
  find=(-DCMAKE_TOOLCHAIN_FILE="$root/scripts/cmake/windows.cmake" -Dcsi_proxy_DIR="$prefix/lib/cmake/csi_proxy")
  without=(gRPC)
  control=remote
else
  exe=""
  simulated=csi-proxy
  run=(env CSI_PROXY_SOCKET_DIR="$out/sockets")
  serve=(--socket-dir="$out/sockets")
  find=(-DCMAKE_PREFIX_PATH="$prefix")
  without=(gRPC Protobuf)
  control=driver
fi

# No program may prompt for input.
exec </dev/null
logs=$out/logs
. integration/support/checks.sh
# program PROGRAM ARGUMENT...: runs a program of the consumer.
program() {
  local name=$1
  shift
  timeout 120 "${run[@]}" "$build/$name$exe" "$@"
}
all_exist() {  # DIRECTORY FILE...
  local file
  for file in "${@:2}"; do ls -l "$1/$file"; done
}

install_and_move() {
  [[ -f build/$preset/build.ninja ]] || cmake --preset "$preset"
  ninja -C "build/$preset" csi_proxy_installed
  cmake --install "build/$preset" --prefix "$out/first"
  mv "$out/first" "$prefix"
  # No installed file refers to the build folder.
  if grep -rF "$root" "$prefix/lib/cmake" "$prefix/include" || [[ -n $(find "$prefix" -xtype l) ]]; then return 1; fi
  all_exist "$prefix" bin/csi-proxy$exe bin/csi-proxyctl$exe bin/csi-node-sidecars$exe share/csi-proxy/api/volume/v1/api.proto
}
configure() {  # DIRECTORY FLAG...
  cmake -G Ninja -S "$source" -B "$1" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "${find[@]}" "${@:2}"
}
build_programs() {
  configure "$build"
  # csi_proxy may be installed on this machine as well.
  grep "^csi_proxy_DIR:[A-Z]*=$prefix/" "$build/CMakeCache.txt"
  ninja -C "$build"
}
# Builds only with what the component needs, without any header of protobuf.
build_node_only() {
  local package flags=()
  for package in "${without[@]}"; do flags+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON"); done
  configure "$out/node_only" -DCONSUMER_COMPONENTS="node;c" "${flags[@]}"
  ninja -C "$out/node_only"
  ! ninja -C "$out/node_only" -t deps | grep -E 'google/protobuf|grpc'
}
newcomer() { program newcomer | tee "$out/newcomer" && grep -q ' is mounted at C:' "$out/newcomer"; }
testing() { program testing | tee "$out/testing" && grep -q 'pulled out: yes' "$out/testing"; }
# On Windows gRPC can serve neither as the driver nor as the kubelet, so only the program sidecars
# runs there.
sidecars() { program sidecars && { [[ $preset == windows ]] || program driver; }; }
backends() {
  program backends_none && program backends_remote remote && program backends_embedded embedded && program backends_both remote embedded
}
# Runs the programs that need a service while one runs.
with_service() {
  "${run[@]}" "$prefix/bin/$simulated$exe" --host=simulated "${serve[@]}" 2>"$out/service.log" &
  service=$!
  for _ in $(seq 300); do
    ! grep -q ' serves ' "$out/service.log" || break
    sleep 0.1
  done
  check "remote" program remote
  check "auto, with a service" program auto remote
  check "csi-proxyctl" timeout 60 "${run[@]}" "$prefix/bin/csi-proxyctl$exe" disk list-disk-ids
  kill $service
  wait $service || true
}

check "install and move" install_and_move
check "build" build_programs
check "build with the direct library and C alone" build_node_only
if [[ $preset == windows ]]; then
  cp "$prefix"/bin/csi_proxy.dll "$build/"
  trap '"${run[@]}" --session-stop' EXIT
  "${run[@]}" --session-start >/dev/null
fi
check "newcomer" newcomer
check "direct library" program node
check "a driver's test" testing
check "C" program c
check "sidecars" sidecars
check "backends" backends
check "auto, without a service" program auto embedded
with_service
check "no gRPC where it is not asked for" "$symbols" no_grpc "$build/$control$exe" "$build/newcomer$exe" \
  "$build/node$exe" "$build/testing$exe" "$build/backends_embedded$exe"

# Unpacks Debian's packages, against which the consumer is then built.
debian_packages() {
  local package
  (cd build/release && cpack -B "$out/packages")
  for package in "$out"/packages/*.deb; do
    dpkg-deb --info "$package"
    dpkg-deb -x "$package" "$out/debian"
  done
  ls "$out"/packages/{csi-proxy,libcsi-proxy2,libcsi-proxy-dev}_*.deb
  all_exist "$out/debian/usr" bin/csi-proxy bin/csi-proxyctl share/doc/csi-proxy/{README,CHANGELOG,SECURITY}.md \
    share/doc/{csi-proxy,libcsi-proxy2,libcsi-proxy-dev}/copyright \
    lib/libcsi_proxy{.so.1,.so,_base.so.2,_client_api.so.2,_client.so.2,_embedded.so.2,_node.so.2,_testing.so.2} \
    lib/libcsi_proxy_sidecars.so{.2,} \
    lib/pkgconfig/csi-proxy-{c,client,embedded,node,sidecars,testing}.pc lib/cmake/csi_proxy/csi_proxy-config.cmake \
    include/csi-proxy/csi_proxy/{csi_proxy,node,sidecars,testing/node}.h share/csi-proxy/server/simulator/admin.proto
  # The packages declare the packages that they depend on.
  dpkg-deb -f "$out"/packages/libcsi-proxy2_*.deb Depends | grep -q libprotobuf32
  dpkg-deb -f "$out"/packages/libcsi-proxy-dev_*.deb Depends | grep -q '^libcsi-proxy2 (= '
  # The maintainer's address is not on this machine.
  dpkg-deb -f "$out"/packages/csi-proxy_*.deb Maintainer | grep -E '^[^<]+ <[^@ ]+@[^@ ]+\.[^@ ]+>$'
  for package in csi-proxy libcsi-proxy2 libcsi-proxy-dev; do
    cmp LICENSE "$out/debian/usr/share/doc/$package/copyright"
  done
}
# Fails if a program uses a symbol whose version marks it as private.
only_public_symbols() {
  local name
  for name in newcomer remote node testing auto c sidecars driver; do
    readelf --dyn-syms --wide "$build/$name" | grep -oE 'CSI_PROXY_(2_PRIVATE|[12])\b' | sort | uniq -c
    if readelf --dyn-syms --wide "$build/$name" | grep CSI_PROXY_2_PRIVATE; then return 1; fi
  done
}
pkg_config() {
  mkdir -p "$out/pkgconfig"
  export PKG_CONFIG_PATH=$out/debian/usr/lib/pkgconfig LD_LIBRARY_PATH=$out/debian/usr/lib
  make -f "$source/Makefile" -C "$out/pkgconfig"
  build=$out/pkgconfig
  newcomer && program node && testing && program c && sidecars
  # The backend is linked, as its message shows.
  { program remote 2>&1 || true; } | grep 'there is no pipe'
}
# The ZIP has the files that a node and a driver in C need.
windows_zip() {
  local zip unpacked=$out/zip
  (cd build/windows && cpack -B "$out/packages")
  zip=$(ls "$out"/packages/csi-proxy-*-windows-amd64.zip)
  mkdir "$unpacked"
  (cd "$unpacked" && cmake -E tar xf "$zip" --format=zip)
  mv "$unpacked"/csi-proxy-*/* "$unpacked"
  all_exist "$unpacked" {README,CHANGELOG,SECURITY}.md licenses/{libgrpc-dev,libprotobuf-dev,gcc-mingw-w64-base}.txt
  cmp LICENSE "$unpacked/LICENSE"
  all_exist "$unpacked" bin/{csi-proxy,csi-proxyctl,csi-proxy-service}.exe bin/csi_proxy.dll lib/libcsi_proxy.dll.a \
    include/csi-proxy/csi_proxy/csi_proxy.h share/csi-proxy/bootstrap/install.ps1
  integration/wine/no_simulator_test.sh "$prefix"/bin/csi{-proxy-simulated.exe,_proxy_simulated.dll} -- \
    "$unpacked"/bin/{csi-proxy,csi-proxy-service,csi-node-sidecars}.exe "$unpacked"/bin/csi_proxy.dll
  x86_64-w64-mingw32-gcc -I "$unpacked/include/csi-proxy" "$source/c.c" -L "$unpacked/lib" -lcsi_proxy -o "$unpacked/bin/c.exe"
  build=$unpacked/bin
  program c && program csi-proxy --help >/dev/null && program csi-proxyctl --help && program csi-proxy-service --help
}
if [[ $preset == windows ]]; then
  check "ZIP" windows_zip
else
  check "public symbols" only_public_symbols
  check "Debian packages" debian_packages
  check "pkg-config" pkg_config
fi

end_checks "consumer"

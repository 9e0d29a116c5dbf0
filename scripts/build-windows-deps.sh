#!/usr/bin/env bash
# Cross-builds the libraries the Windows programs link, as static libraries, with mingw-w64.
#
#   scripts/build-windows-deps.sh              builds what is not built yet
#   scripts/build-windows-deps.sh --prefixes   prints where each library is installed, and builds nothing
#
# The sources are those of Debian 12's own packages, so both platforms share one version of each
# library. Every library is kept in ~/.cache/csi-proxy/windows/<name>-<version>-<key>, where the key
# is made of its recipe, its source's hash, the compiler and the keys of what it is built upon: an
# interrupted run goes on where it stopped, and a changed recipe builds that library anew.
set -euo pipefail

cache=${CSI_PROXY_CACHE:-$HOME/.cache/csi-proxy}
triple=x86_64-w64-mingw32
mirror=http://deb.debian.org/debian/pool/main
compiler=$($triple-g++-posix -dumpfullversion 2>/dev/null || echo none)
here=$(cd "$(dirname "$0")" && pwd)
toolchain=$here/cmake/mingw-w64.cmake

# name | version | source, below the mirror | SHA-256 | built upon | what CMake is told
# The hashes are those of Debian's signed source indices (apt-get source --print-uris NAME).
libraries() {
  cat <<'TABLE'
abseil|20220623.1|a/abseil/abseil_20220623.1.orig.tar.gz|abfe2897f3a30edaa74bc34365afe3c2a3cd012091a97dc7e008f7016adcd5fe||-DABSL_PROPAGATE_CXX_STD=ON -DBUILD_TESTING=OFF
protobuf|3.21.12|p/protobuf/protobuf_3.21.12.orig.tar.gz|930c2c3b5ecc6c9c12615cf5ad93f1cd6e12d0aba862b572e076259970ac3a53||-Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF -Dprotobuf_WITH_ZLIB=OFF
c-ares|1.18.1|c/c-ares/c-ares_1.18.1.orig.tar.gz|1a7d52a8a84a9fbffb1be9133c0f6e17217d91ea5a6fa61f6b4729cda78ebbcf||-DCARES_STATIC=ON -DCARES_SHARED=OFF -DCARES_BUILD_TOOLS=OFF
grpc|1.51.1|g/grpc/grpc_1.51.1.orig.tar.gz|b55696fb249669744de3e71acc54a9382bea0dce7cd5ba379b356b12b82d4229|abseil protobuf c-ares|-DgRPC_INSTALL=OFF -DgRPC_BUILD_CODEGEN=OFF -DgRPC_BUILD_CSHARP_EXT=OFF -DgRPC_BUILD_GRPC_CPP_PLUGIN=OFF -DgRPC_ABSL_PROVIDER=package -DgRPC_PROTOBUF_PROVIDER=package -DgRPC_PROTOBUF_PACKAGE_TYPE=CONFIG -DgRPC_CARES_PROVIDER=package -DgRPC_ZLIB_PROVIDER=package -DgRPC_SSL_PROVIDER=none -DgRPC_RE2_PROVIDER=none -DZLIB_LIBRARY=/usr/x86_64-w64-mingw32/lib/libz.a
fmt|9.1.0|f/fmtlib/fmtlib_9.1.0%2bds1.orig.tar.gz|84ce1c2d0be3a9863935137969dcec6970125caac032f82474640bfc81463583||-DFMT_TEST=OFF -DFMT_DOC=OFF
spdlog|1.10.0|s/spdlog/spdlog_1.10.0%2bds.orig.tar.xz|620ca6842b5c21014470bd42eb4716024674214fb973b5ffa3aaea33310ad327|fmt|-DSPDLOG_FMT_EXTERNAL=ON -DSPDLOG_BUILD_EXAMPLE=OFF
boost|1.74.0|b/boost1.74/boost1.74_1.74.0%2bds1.orig.tar.xz|192f5df504d282cb81288f88232d8af45b64a9ab531e1c7cf8ae955f16f6bb28||
googletest|1.12.1|g/googletest/googletest_1.12.1.orig.tar.gz|81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2||
civetweb|1.15|c/civetweb/civetweb_1.15%2bdfsg.orig.tar.xz|ec372e9737bc820118bbb735f46a07d41f795814ca0f38bc6e67048e7a460f33||
prometheus-cpp|1.0.1|p/prometheus-cpp/prometheus-cpp_1.0.1.orig.tar.gz|593e028d401d3298eada804d252bc38d8cab3ea1c9e88bcd72095281f85e6d16|civetweb|-DENABLE_PUSH=OFF -DENABLE_COMPRESSION=OFF -DENABLE_TESTING=OFF -DUSE_THIRDPARTY_LIBRARIES=OFF
TABLE
}

# Before a source is configured, in its directory: what makes it buildable apart from options.
prepare() {
  case $1 in
    # CMake would download what these folders lack, though nothing of it is built. Its own install
    # rules want all of its targets; these take the five we link, and the internal headers for the
    # one file of ours that hands a pipe to gRPC's core.
    grpc)
      mkdir -p third_party/{envoy-api,googleapis,xds,opencensus-proto/src}
      cat >>CMakeLists.txt <<'CMAKE'
install(TARGETS grpc++_unsecure grpc_unsecure gpr address_sorting upb EXPORT gRPCTargets
        ARCHIVE DESTINATION lib INCLUDES DESTINATION include)
install(EXPORT gRPCTargets NAMESPACE gRPC:: DESTINATION lib/cmake/grpc)
install(DIRECTORY include/ DESTINATION include)
install(DIRECTORY src third_party/upb third_party/xxhash DESTINATION include/grpc-internal
        FILES_MATCHING PATTERN "*.h" PATTERN "*.inc" PATTERN "ruby" EXCLUDE PATTERN "objective-c" EXCLUDE
        PATTERN "php" EXCLUDE PATTERN "csharp" EXCLUDE)
file(WRITE ${CMAKE_BINARY_DIR}/gRPCConfig.cmake [[
include(CMakeFindDependencyMacro)
find_dependency(absl CONFIG)
find_dependency(c-ares CONFIG)
if(NOT TARGET protobuf::libprotobuf)
  find_dependency(protobuf CONFIG)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/gRPCTargets.cmake)
set(gRPC_INTERNAL_INCLUDE_DIR ${CMAKE_CURRENT_LIST_DIR}/../../../include/grpc-internal)
]])
install(FILES ${CMAKE_BINARY_DIR}/gRPCConfig.cmake DESTINATION lib/cmake/grpc)
CMAKE
      ;;
    # Only the one library that is not headers alone.
    boost)
      cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(boost CXX)
file(GLOB sources libs/program_options/src/*.cpp)
file(GLOB includes libs/*/include libs/numeric/*/include)
add_library(boost_program_options STATIC ${sources})
target_include_directories(boost_program_options PRIVATE ${includes})
install(TARGETS boost_program_options)
foreach(include ${includes})
  install(DIRECTORY ${include}/boost DESTINATION include)
endforeach()
CMAKE
      ;;
    # Debian builds it with make and so do we, in CMake's words: its own CMakeLists.txt fetches Lua.
    civetweb)
      cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(civetweb C CXX)
add_library(civetweb STATIC src/civetweb.c)
add_library(civetweb-cpp STATIC src/CivetServer.cpp)
foreach(target civetweb civetweb-cpp)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                             $<INSTALL_INTERFACE:include>)
  target_compile_definitions(${target} PRIVATE NO_SSL NO_CGI NO_CACHING NO_FILES USE_IPV6=1)
endforeach()
target_link_libraries(civetweb PUBLIC ws2_32)
target_link_libraries(civetweb-cpp PUBLIC civetweb)
install(TARGETS civetweb civetweb-cpp EXPORT civetweb)
install(FILES include/civetweb.h include/CivetServer.h DESTINATION include)
install(EXPORT civetweb NAMESPACE civetweb:: DESTINATION lib/cmake/civetweb
        FILE civetweb-config.cmake)
CMAKE
      ;;
  esac
}

# What of a configured source is built; all of it when nothing is said.
targets() { if [[ $1 == grpc ]]; then echo grpc++_unsecure; fi; }

declare -A prefix_of
prefix() {  # NAME VERSION HASH UPON OPTIONS
  local key
  key=$(
    {
      printf '%s|' "$@" "$compiler" "$(cat "$toolchain")"
      prepare_text "$1"
      for other in $4; do echo "${prefix_of[$other]##*/}"; done
    } | sha256sum
  )
  echo "$cache/windows/$1-$2-${key:0:12}"
}
# The lines of prepare() that concern one library.
prepare_text() { declare -f prepare | sed -n "/^ *$1)/,/;;/p"; }

build() {  # NAME SOURCE HASH OPTIONS PREFIX DEPENDENCIES
  local name=$1 source=$2 hash=$3 options=$4 prefix=$5 upon=$6
  local archive work
  archive=$cache/sources/$(basename "$source")
  work=$cache/windows/work/$(basename "$prefix")
  mkdir -p "$cache/sources" "$work"
  if ! echo "$hash  $archive" | sha256sum --check --status 2>/dev/null; then
    curl --fail --silent --show-error --location --retry 3 -o "$archive.part" "$mirror/$source"
    echo "$hash  $archive.part" | sha256sum --check --status ||
      { echo "$name: $mirror/$source is not what it should be (SHA-256 differs)" >&2; exit 1; }
    mv "$archive.part" "$archive"
  fi
  if [[ ! -f $work/extracted ]]; then
    rm -rf "$work/source" && mkdir -p "$work/source"
    # Boost's archive holds a hundred libraries: take the one, and the headers.
    local only=()
    [[ $name != boost ]] || only=(--wildcards 'boost/libs/*/include/*' 'boost/libs/program_options/src/*')
    tar -xf "$archive" -C "$work/source" --strip-components=1 "${only[@]}"
    (cd "$work/source" && prepare "$name")
    touch "$work/extracted"
  fi
  local paths=""
  for other in $upon; do paths+="${prefix_of[$other]};"; done
  # The prefix map keeps this machine's paths out of the libraries.
  local flags="-D_WIN32_WINNT=0x0A00 -ffunction-sections -fdata-sections -ffile-prefix-map=$work=$name"
  # shellcheck disable=SC2086
  cmake -G Ninja -S "$work/source" -B "$work/build" -DCMAKE_TOOLCHAIN_FILE="$toolchain" \
    -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DCMAKE_CXX_STANDARD=17 \
    -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_C_FLAGS_RELEASE="-O2 -DNDEBUG" -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
    -DCMAKE_PREFIX_PATH="$paths" -DCMAKE_INSTALL_PREFIX="$prefix.part" $options \
    >"$work/configure.log" 2>&1 || { tail -30 "$work/configure.log"; exit 1; }
  # shellcheck disable=SC2046
  ninja -C "$work/build" $(targets "$name") >"$work/build.log" 2>&1 ||
    { grep -A20 FAILED "$work/build.log" | head -60; exit 1; }
  rm -rf "$prefix.part"
  cmake --install "$work/build" >"$work/install.log" 2>&1 || { tail -20 "$work/install.log"; exit 1; }
  mv "$prefix.part" "$prefix"
  rm -rf "$work"
}

mode=${1:-}
count=$(libraries | wc -l)
done=0
while IFS='|' read -r name version source hash upon options; do
  prefix_of[$name]=$(prefix "$name" "$version" "$hash" "$upon" "$options")
  done=$((done + 1))
  if [[ $mode == --prefixes ]]; then
    echo "${prefix_of[$name]}"
  elif [[ -d ${prefix_of[$name]} ]]; then
    echo "[$done/$count] $name $version is built"
  else
    echo "[$done/$count] building $name $version"
    start=$SECONDS
    build "$name" "$source" "$hash" "$options" "${prefix_of[$name]}" "$upon"
    echo "[$done/$count] $name $version took $((SECONDS - start)) s"
  fi
done < <(libraries)

#!/usr/bin/env bash
# Cross-builds the libraries that the Windows programs link, as static libraries, with mingw-w64.
#
#   scripts/build-windows-deps.sh              builds the libraries that are missing
#   scripts/build-windows-deps.sh --prefixes   prints where each library is installed, and builds nothing
#   scripts/build-windows-deps.sh --sources    prints name, version, archive and SHA-256 of each, and builds nothing
#
# The sources are those of Debian 12's packages, so that both platforms have the same versions. nghttp2 is built
# with Debian's patches, which fix its weaknesses. apt fetches the archives from this machine's package sources,
# unless they are in ~/.cache/csi-proxy/sources. Each library is installed in
# ~/.cache/csi-proxy/windows/<name>-<version>-<key>. The key is a hash of its recipe, source hashes, compiler and
# the keys of the libraries below it: an interrupted run continues where it stopped, and a changed recipe rebuilds
# its library.
set -euo pipefail

cache=${CSI_PROXY_CACHE:-$HOME/.cache/csi-proxy}
triple=x86_64-w64-mingw32
compiler=$($triple-g++-posix -dumpfullversion 2>/dev/null || echo none)
here=$(cd "$(dirname "$0")" && pwd)
toolchain=$here/cmake/mingw-w64.cmake
flags="-D_WIN32_WINNT=0x0A00 -ffunction-sections -fdata-sections"
common=(
  -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DCMAKE_CXX_STANDARD=17 -DCMAKE_INSTALL_LIBDIR=lib
  "-DCMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG" "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG"
)

# name | version | archive of Debian's source package | SHA-256 | libraries below it | options for CMake |
# archive of Debian's patches | SHA-256
# The hashes are those of Debian's signed source indices (apt-cache showsrc NAME).
libraries() {
  cat <<'TABLE'
abseil|20220623.1|abseil_20220623.1.orig.tar.gz|abfe2897f3a30edaa74bc34365afe3c2a3cd012091a97dc7e008f7016adcd5fe||-DABSL_PROPAGATE_CXX_STD=ON -DBUILD_TESTING=OFF
protobuf|3.21.12|protobuf_3.21.12.orig.tar.gz|930c2c3b5ecc6c9c12615cf5ad93f1cd6e12d0aba862b572e076259970ac3a53||-Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF -Dprotobuf_WITH_ZLIB=OFF
grpc|1.51.1|grpc_1.51.1.orig.tar.gz|b55696fb249669744de3e71acc54a9382bea0dce7cd5ba379b356b12b82d4229|abseil protobuf|-DgRPC_INSTALL=OFF -DgRPC_BUILD_CODEGEN=OFF -DgRPC_BUILD_CSHARP_EXT=OFF -DgRPC_BUILD_GRPC_CPP_PLUGIN=OFF -DgRPC_ABSL_PROVIDER=package -DgRPC_PROTOBUF_PROVIDER=package -DgRPC_PROTOBUF_PACKAGE_TYPE=CONFIG -DgRPC_CARES_PROVIDER=none -DgRPC_ZLIB_PROVIDER=package -DgRPC_SSL_PROVIDER=none -DgRPC_RE2_PROVIDER=none -DZLIB_LIBRARY=/usr/x86_64-w64-mingw32/lib/libz.a
nghttp2|1.52.0|nghttp2_1.52.0.orig.tar.gz|6b71561a9950b4a90fa36aa3160763f1437f3730d7a12434e416aa3f4ab145e0||-DENABLE_LIB_ONLY=ON -DENABLE_STATIC_LIB=ON -DENABLE_SHARED_LIB=OFF -DHAVE_CLOCK_GETTIME=OFF|nghttp2_1.52.0-1+deb12u3.debian.tar.xz|57aee32be437d31753cb36e6a518a48693f129cb884c17b0dcf323426331001d
fmt|9.1.0|fmtlib_9.1.0+ds1.orig.tar.gz|84ce1c2d0be3a9863935137969dcec6970125caac032f82474640bfc81463583||-DFMT_TEST=OFF -DFMT_DOC=OFF
spdlog|1.10.0|spdlog_1.10.0+ds.orig.tar.xz|620ca6842b5c21014470bd42eb4716024674214fb973b5ffa3aaea33310ad327|fmt|-DSPDLOG_FMT_EXTERNAL=ON -DSPDLOG_BUILD_EXAMPLE=OFF
googletest|1.12.1|googletest_1.12.1.orig.tar.gz|81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2||
prometheus-cpp|1.0.1|prometheus-cpp_1.0.1.orig.tar.gz|593e028d401d3298eada804d252bc38d8cab3ea1c9e88bcd72095281f85e6d16||-DENABLE_PULL=OFF -DENABLE_PUSH=OFF -DENABLE_TESTING=OFF -DCMAKE_UNITY_BUILD=ON
boost|1.74.0|boost1.74_1.74.0+ds1.orig.tar.xz|192f5df504d282cb81288f88232d8af45b64a9ab531e1c7cf8ae955f16f6bb28||
TABLE
}

# Prepares a source in its directory: makes it buildable as far as options cannot, and quick to build. Most of the
# time goes into reading the same headers again, so headers that most files include are precompiled.
prepare() {
  case $1 in
    # No library that we link uses Abseil's flags.
    abseil)
      sed -i '/add_subdirectory(flags)/d' absl/CMakeLists.txt
      touch precompiled.cc
      cat >>CMakeLists.txt <<'CMAKE'
add_library(precompiled OBJECT precompiled.cc)
target_include_directories(precompiled PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_features(precompiled PRIVATE cxx_std_17)
target_compile_options(precompiled PRIVATE ${ABSL_DEFAULT_COPTS})
target_precompile_headers(precompiled PRIVATE <algorithm> <atomic> <cstring> <functional> <limits>
                          <memory> <sstream> <string> <type_traits> <utility> <vector>
                          [["absl/strings/str_cat.h"]] [["absl/synchronization/mutex.h"]])
get_property(folders DIRECTORY absl PROPERTY SUBDIRECTORIES)
foreach(folder ${folders})
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    # These are compiled for processors that not every node has.
    if(type STREQUAL STATIC_LIBRARY AND NOT target MATCHES "random_internal_randen_hwaes")
      target_precompile_headers(${target} REUSE_FROM precompiled)
    endif()
  endforeach()
endforeach()
CMAKE
      ;;
    # libprotobuf contains libprotobuf-lite, and is all that we link.
    protobuf)
      sed -i 's/libprotobuf-lite libprotobuf)/libprotobuf)/' cmake/install.cmake
      cat >>CMakeLists.txt <<'CMAKE'
set_target_properties(libprotobuf-lite PROPERTIES EXCLUDE_FROM_ALL ON)
target_precompile_headers(libprotobuf PRIVATE <algorithm> <functional> <map> <memory> <mutex> <sstream>
                          <string> <unordered_map> <unordered_set> <utility> <vector>
                          <google/protobuf/descriptor.h> <google/protobuf/dynamic_message.h>
                          <google/protobuf/io/coded_stream.h> <google/protobuf/map_field.h>
                          <google/protobuf/message.h> <google/protobuf/reflection_ops.h>
                          <google/protobuf/stubs/logging.h> <google/protobuf/stubs/strutil.h>
                          <google/protobuf/wire_format.h>)
CMAKE
      ;;
    # CMake would download the contents of these folders, although nothing in them is built. gRPC's install rules
    # need all of its targets; these install the five that we link, and the internal headers for our file that
    # passes a pipe to gRPC's core. A pipe needs no DNS, so c-ares is left out.
    grpc)
      mkdir -p third_party/{envoy-api,googleapis,xds,opencensus-proto/src}
      cat >>CMakeLists.txt <<'CMAKE'
target_compile_definitions(grpc_unsecure PRIVATE GRPC_ARES=0)
function(precompile target)
  list(TRANSFORM ARGN REPLACE ">$" "$<ANGLE-R>")
  list(TRANSFORM ARGN PREPEND "$<$<COMPILE_LANGUAGE:CXX>:")
  list(TRANSFORM ARGN APPEND ">")
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()
set(common "<grpc/support/port_platform.h>" <algorithm> <atomic> <functional> <map> <memory> <string>
    <utility> <vector> "<grpc/support/log.h>" [["absl/status/statusor.h"]] [["absl/strings/str_cat.h"]]
    [["absl/strings/str_format.h"]] [["absl/strings/str_join.h"]] [["absl/types/optional.h"]])
precompile(gpr ${common})
precompile(grpc_unsecure ${common} [["src/core/lib/address_utils/sockaddr_utils.h"]]
           [["src/core/lib/channel/channel_stack.h"]] [["src/core/lib/channel/channelz.h"]]
           [["src/core/lib/config/core_configuration.h"]] [["src/core/lib/gprpp/status_helper.h"]]
           [["src/core/lib/iomgr/exec_ctx.h"]] [["src/core/lib/iomgr/timer.h"]]
           [["src/core/lib/promise/seq.h"]] [["src/core/lib/surface/call.h"]]
           [["src/core/lib/transport/metadata_batch.h"]] [["src/core/lib/transport/transport.h"]])
precompile(grpc++_unsecure ${common} "<grpcpp/server.h>" "<grpcpp/server_builder.h>"
           "<grpcpp/channel.h>" "<grpcpp/create_channel.h>"
           [["src/core/lib/iomgr/exec_ctx.h"]])
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
if(NOT TARGET protobuf::libprotobuf)
  find_dependency(protobuf CONFIG)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/gRPCTargets.cmake)
set(gRPC_INTERNAL_INCLUDE_DIR ${CMAKE_CURRENT_LIST_DIR}/../../../include/grpc-internal)
]])
install(FILES ${CMAKE_BINARY_DIR}/gRPCConfig.cmake DESTINATION lib/cmake/grpc)
CMAKE
      ;;
    # Only program_options is more than headers.
    boost)
      cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(boost CXX)
file(GLOB sources libs/program_options/src/*.cpp)
add_library(boost_program_options STATIC ${sources})
target_include_directories(boost_program_options PRIVATE include)
set_target_properties(boost_program_options PROPERTIES UNITY_BUILD ON)
install(TARGETS boost_program_options)
install(DIRECTORY include/boost DESTINATION include)
CMAKE
      ;;
  esac
}

# Prints the targets to build of a configured source; prints nothing for all targets.
targets() { if [[ $1 == grpc ]]; then echo grpc++_unsecure; fi; }

declare -A version_of archive_of hash_of upon_of options_of patches_of patches_hash_of prefix_of
prefix() {  # NAME
  local key other
  key=$(
    {
      printf '%s|' "$1" "${version_of[$1]}" "${hash_of[$1]}" "${options_of[$1]}" "$compiler" "$flags" "${common[@]}" "$(cat "$toolchain")"
      prepare_text "$1"
      [[ -z ${patches_of[$1]} ]] || echo "${patches_hash_of[$1]}"
      for other in ${upon_of[$1]}; do echo "${prefix_of[$other]##*/}"; done
    } | sha256sum
  )
  echo "$cache/windows/$1-${version_of[$1]}-${key:0:12}"
}
# Prints the lines of prepare() for one library.
prepare_text() { declare -f prepare | sed -n "/^ *$1)/,/;;/p"; }

# Runs apt with this machine's package sources, for source packages and with lists in the cache.
apt_private() {
  local lists=$cache/apt list parts file tool=$1
  shift
  if [[ ! -d $lists ]]; then
    mkdir -p "$lists.part"/{etc,lists/partial,cache/archives/partial}
    eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
    for file in "$list" "$parts"/*.list; do
      [[ ! -f $file ]] || sed -nE 's/^[[:space:]]*deb[[:space:]]/deb-src /p' "$file" >"$lists.part/etc/${file##*/}"
    done
    for file in "$parts"/*.sources; do
      [[ ! -f $file ]] || sed -E 's/^Types:.*/Types: deb-src/' "$file" >"$lists.part/etc/${file##*/}"
    done
    # Some repositories have no sources, so a failure is ignored here.
    apt_in "$lists.part" apt-get update >"$lists.part/log" 2>&1 || true
    mv "$lists.part" "$lists"
  fi
  apt_in "$lists" "$tool" "$@"
}
apt_in() {  # DIRECTORY TOOL ARGUMENT...
  "$2" -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$1/etc" -o Dir::State::Lists="$1/lists" \
    -o Dir::Cache="$1/cache" -o APT::Sandbox::User="$(id -un)" "${@:3}"
}
# Fetches the archives of a library into the cache.
fetch() {  # NAME
  fetch_archive "$1" "${archive_of[$1]}" "${hash_of[$1]}" --tar-only
  [[ -z ${patches_of[$1]} ]] || fetch_archive "$1" "${patches_of[$1]}" "${patches_hash_of[$1]}" --diff-only
}
fetch_archive() {  # NAME ARCHIVE SHA-256 OPTION
  local archive=$2 hash=$3 package=${2%%_*} version
  if echo "$hash  $cache/sources/$archive" | sha256sum --check --status 2>/dev/null; then return; fi
  mkdir -p "$cache/sources"
  version=$(apt_private apt-cache showsrc --only-source "$package" |
    awk -v hash="$hash" '/^Version: / { version = $2 } $1 == hash && !seen++ { print version }')
  if [[ -z $version ]]; then
    echo "$1: none of apt's sources has $archive of Debian 12 (SHA-256 $hash)" >&2
    tail -3 "$cache/apt/log" >&2
    rm -rf "$cache/apt"
    return 1
  fi
  (cd "$cache/sources" && rm -f "$archive" &&
    apt_private apt-get source --download-only "$4" "$package=$version")
  echo "$hash  $cache/sources/$archive" | sha256sum --check --status ||
    { echo "$1: $archive is not what it should be (SHA-256 differs)" >&2; return 1; }
}

build() {  # NAME
  local name=$1 prefix=${prefix_of[$1]} archive=$cache/sources/${archive_of[$1]}
  local work other paths=""
  work=$cache/windows/work/$(basename "$prefix")
  mkdir -p "$work"
  if [[ ! -f $work/extracted ]]; then
    rm -rf "$work/source" && mkdir -p "$work/source"
    # Takes program_options and all headers from Boost's archive, which contains a hundred libraries.
    local only=()
    [[ $name != boost ]] || only=(--wildcards 'boost/libs/*/include/*' 'boost/libs/program_options/src/*'
      --transform 's|^boost/libs/.*/include/boost/|boost/include/boost/|')
    tar -xf "$archive" -C "$work/source" --strip-components=1 "${only[@]}"
    if [[ -n ${patches_of[$name]} ]]; then
      tar -xf "$cache/sources/${patches_of[$name]}" -C "$work/source"
      while read -r other; do
        patch -s -p1 -d "$work/source" -i "debian/patches/$other"
      done <"$work/source/debian/patches/series"
    fi
    (cd "$work/source" && prepare "$name")
    touch "$work/extracted"
  fi
  for other in ${upon_of[$name]}; do paths+="${prefix_of[$other]};"; done
  # Keeps this machine's paths out of the libraries.
  local map="-ffile-prefix-map=$work=$name"
  # shellcheck disable=SC2086
  cmake -G Ninja -S "$work/source" -B "$work/build" -DCMAKE_TOOLCHAIN_FILE="$toolchain" "${common[@]}" \
    -DCMAKE_C_FLAGS="$flags $map" -DCMAKE_CXX_FLAGS="$flags $map" \
    -DCMAKE_PREFIX_PATH="$paths" -DCMAKE_INSTALL_PREFIX="$prefix.part" ${options_of[$name]} \
    >"$work/configure.log" 2>&1 || { tail -30 "$work/configure.log"; return 1; }
  # shellcheck disable=SC2046
  ninja -C "$work/build" -j "$(nproc)" $(targets "$name") >"$work/build.log" 2>&1 ||
    { grep -A20 FAILED "$work/build.log" | head -60; return 1; }
  rm -rf "$prefix.part"
  cmake --install "$work/build" >"$work/install.log" 2>&1 || { tail -20 "$work/install.log"; return 1; }
  mv "$prefix.part" "$prefix"
  rm -rf "$work"
}
# Builds libraries one after another, and prints how long each took.
build_each() {  # NAME...
  local name title
  for name in "$@"; do
    title="$name ${version_of[$name]}"
    if [[ -d ${prefix_of[$name]} ]]; then
      echo "$title is built"
    else
      TIMEFORMAT="$title took %0R s, and %0U s of user's and %0S s of the system's processor time"
      time build "$name"
    fi
  done
}

names=()
while IFS='|' read -r name version archive hash upon options patches patches_hash; do
  names+=("$name")
  version_of[$name]=$version
  archive_of[$name]=$archive
  hash_of[$name]=$hash
  upon_of[$name]=$upon
  options_of[$name]=$options
  patches_of[$name]=$patches
  patches_hash_of[$name]=$patches_hash
  prefix_of[$name]=$(prefix "$name")
done < <(libraries)
if [[ ${1:-} == --prefixes ]]; then
  for name in "${names[@]}"; do echo "${prefix_of[$name]}"; done
  exit
fi
if [[ ${1:-} == --sources ]]; then
  for name in "${names[@]}"; do echo "$name ${version_of[$name]} ${archive_of[$name]} ${hash_of[$name]}"; done
  exit
fi

# Only one build at a time may fill the cache.
mkdir -p "$cache/windows"
exec 9>"$cache/windows/lock"
flock 9
rm -rf "$cache/apt"
for name in "${names[@]}"; do [[ -d ${prefix_of[$name]} ]] || fetch "$name"; done
# gRPC and the libraries below it take most of the time. The other libraries are built beside them, on processors
# that they leave idle.
others=()
for name in "${names[@]}"; do [[ " ${upon_of[grpc]} grpc " == *" $name "* ]] || others+=("$name"); done
build_each "${others[@]}" &
beside=$!
trap 'kill $beside 2>/dev/null || true' EXIT
# shellcheck disable=SC2086
build_each ${upon_of[grpc]} grpc
wait $beside

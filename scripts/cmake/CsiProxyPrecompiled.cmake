# Compiles headers that nearly every source includes once. Sources must still include the headers that they
# use: CSI_PROXY_PRECOMPILE=OFF, which tools that read compile_commands.json need too, shows missing ones.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(CAN_PRECOMPILE ON)
else()
  set(CAN_PRECOMPILE OFF)
endif()
option(CSI_PROXY_PRECOMPILE "Compile common headers once" ${CAN_PRECOMPILE})

set(CSI_PROXY_HEADERS_base
  <algorithm> <array> <atomic> <chrono> <cstdint> <functional> <map> <memory> <mutex> <optional>
  <set> <sstream> <string> <thread> <utility> <vector>
  <absl/container/flat_hash_map.h> <absl/status/statusor.h>
  <absl/strings/ascii.h> <absl/strings/match.h> <absl/strings/str_cat.h> <absl/strings/str_format.h>
  <absl/strings/str_join.h> <absl/strings/str_split.h> <absl/synchronization/mutex.h>
  <absl/time/clock.h> <absl/time/time.h>)
set(CSI_PROXY_HEADERS_protobuf ${CSI_PROXY_HEADERS_base}
  <google/protobuf/descriptor.h> <google/protobuf/generated_message_reflection.h>
  <google/protobuf/map.h> <google/protobuf/message.h> <google/protobuf/repeated_field.h>
  <google/protobuf/text_format.h>)
set(CSI_PROXY_HEADERS_grpc ${CSI_PROXY_HEADERS_protobuf} <grpcpp/grpcpp.h>)
set(CSI_PROXY_HEADERS_test ${CSI_PROXY_HEADERS_protobuf} <gmock/gmock.h> <gtest/gtest.h>)

if(CSI_PROXY_PRECOMPILE)
  # ccache needs the first option. GCC 12 has false warnings about std::string code inlined from precompiled
  # headers.
  add_compile_options(-fpch-preprocess -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
                      -Wno-stringop-overread)
endif()

# csi_proxy_precompile(TARGET KIND): the target's sources begin with CSI_PROXY_HEADERS_<KIND>. All targets of a
# kind share one compilation of them.
function(csi_proxy_precompile target kind)
  if(NOT CSI_PROXY_PRECOMPILE)
    return()
  endif()
  set(owner csi_proxy_precompiled_${kind})
  if(NOT TARGET ${owner})
    set(source ${PROJECT_BINARY_DIR}/precompiled/${kind}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
    set(libraries_base absl::flat_hash_map absl::statusor absl::str_format)
    set(libraries_protobuf ${libraries_base} protobuf::libprotobuf)
    set(libraries_grpc ${libraries_protobuf} gRPC::grpc++_unsecure)
    set(libraries_test ${libraries_protobuf} GTest::gmock GTest::gtest)
    if(kind STREQUAL "test")
      # Compiled with the options of tests; code that only programs link has others.
      add_executable(${owner} EXCLUDE_FROM_ALL ${source})
      csi_proxy_test_options(${owner})
    else()
      add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${source})
    endif()
    target_link_libraries(${owner} PRIVATE ${libraries_${kind}})
    target_precompile_headers(${owner} PRIVATE ${CSI_PROXY_HEADERS_${kind}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

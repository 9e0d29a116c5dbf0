# A cross-build takes the programs that generate code from this machine: those of Debian, which have the
# libraries' versions, and our own, from a separate build for this system.
set(Boost_USE_STATIC_LIBS ON)
find_package(protobuf CONFIG REQUIRED)
# For gRPC. Static, because Debian's package contains an import library, too.
set(ZLIB_LIBRARY /usr/${MINGW_TRIPLE}/lib/libz.a)
find_package(ZLIB REQUIRED)

find_program(CSI_PROXY_PROTOC protoc REQUIRED)
find_program(CSI_PROXY_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
add_executable(protobuf::protoc IMPORTED)
set_target_properties(protobuf::protoc PROPERTIES IMPORTED_LOCATION ${CSI_PROXY_PROTOC})
add_executable(gRPC::grpc_cpp_plugin IMPORTED)
set_target_properties(gRPC::grpc_cpp_plugin PROPERTIES IMPORTED_LOCATION ${CSI_PROXY_GRPC_CPP_PLUGIN})

include(ExternalProject)
set(CSI_PROXY_HOST_BUILD ${PROJECT_BINARY_DIR}/host)
ExternalProject_Add(csi_proxy_host_tools
  SOURCE_DIR ${PROJECT_SOURCE_DIR}
  BINARY_DIR ${CSI_PROXY_HOST_BUILD}
  CMAKE_ARGS -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF
  BUILD_COMMAND ${CMAKE_COMMAND} --build <BINARY_DIR> --target protoc-gen-csi-proxy
  BUILD_BYPRODUCTS ${CSI_PROXY_HOST_BUILD}/codegen/protoc-gen-csi-proxy
  INSTALL_COMMAND "" BUILD_ALWAYS ON USES_TERMINAL_BUILD ON)
add_executable(protoc-gen-csi-proxy IMPORTED GLOBAL)
set_target_properties(protoc-gen-csi-proxy PROPERTIES
  IMPORTED_LOCATION ${CSI_PROXY_HOST_BUILD}/codegen/protoc-gen-csi-proxy)
add_dependencies(protoc-gen-csi-proxy csi_proxy_host_tools)

# csi_proxy_api_group(GROUP): the targets of one API group, from its hub, its conversion table and
# every api/<GROUP>/<version>/api.proto there is. Adding a version is adding its file.
#
#   csi_proxy_hub_<group>      structs and abstract service (absl only)
#   csi_proxy_api_<group>      protobuf messages of all versions
#   csi_proxy_convert_<group>  conversions and shims between the two (needs csi_proxy_overrides)
#   csi_proxy_grpc_<group>     gRPC services over the shims
#   csi_proxy_embedded_<group> the shims in the process that calls
#   csi_proxy_client_<group>   clients, for whatever mode is linked beside them
set(CSI_PROXY_GENERATED ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${CSI_PROXY_GENERATED})

# csi_proxy_versions(GROUP OUT): the versions there are of a group, such as `v1;v1beta1`.
function(csi_proxy_versions group out)
  file(GLOB versions RELATIVE ${PROJECT_SOURCE_DIR}/api/${group} CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/api/${group}/*/api.proto)
  list(TRANSFORM versions REPLACE "/api.proto$" "")
  set(${out} ${versions} PARENT_SCOPE)
endfunction()

# csi_proxy_any_message(GROUP VERSION OUT): the name of a message of the version, which leads to its
# file and service at run time.
function(csi_proxy_any_message group version out)
  file(STRINGS ${PROJECT_SOURCE_DIR}/api/${group}/${version}/api.proto message REGEX "^message "
       LIMIT_COUNT 1)
  string(REGEX REPLACE "^message ([A-Za-z0-9]+).*" "\\1" message "${message}")
  set(${out} ${message} PARENT_SCOPE)
endfunction()

# Generated code is compiled with our warnings too: it is ours.
function(csi_proxy_generated_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  csi_proxy_library(${name} SRCS ${ARG_SRCS} DEPS ${ARG_DEPS})
  target_include_directories(${name} PUBLIC ${CSI_PROXY_GENERATED})
endfunction()

function(csi_proxy_api_group group)
  set(api ${PROJECT_SOURCE_DIR}/api)
  set(out ${CSI_PROXY_GENERATED})
  csi_proxy_versions(${group} versions)

  set(version_protos)
  set(pb_sources)
  set(pb_headers)
  set(grpc_sources)
  set(convert_sources)
  set(service_sources ${out}/csi_proxy/${group}/grpc_services.cc)
  set(embedded_sources ${out}/csi_proxy/${group}/embedded_versions.cc)
  set(client_sources)
  set(headers)
  foreach(header audited embedded_versions grpc_services hub)
    list(APPEND headers ${out}/csi_proxy/${group}/${header}.h)
  endforeach()
  foreach(version ${versions})
    set(dir ${group}/${version})
    list(APPEND version_protos ${dir}/api.proto)
    list(APPEND pb_sources ${out}/${dir}/api.pb.cc)
    list(APPEND pb_headers ${out}/${dir}/api.pb.h ${out}/${dir}/api.grpc.pb.h)
    list(APPEND grpc_sources ${out}/${dir}/api.grpc.pb.cc)
    set(base ${out}/csi_proxy/${group}/${version})
    list(APPEND convert_sources ${base}/convert.cc ${base}/round_trip.cc ${base}/shim.cc)
    list(APPEND service_sources ${base}/grpc_service.cc)
    list(APPEND embedded_sources ${base}/embedded.cc)
    list(APPEND client_sources ${base}/by_name.cc ${base}/client.cc ${base}/remote.cc)
    foreach(header api by_name client convert embedded grpc_service methods remote round_trip shim)
      list(APPEND headers ${base}/${header}.h)
    endforeach()
  endforeach()

  set(proto_files ${version_protos})
  list(TRANSFORM proto_files PREPEND ${api}/)
  add_custom_command(
    OUTPUT ${pb_sources} ${pb_headers} ${grpc_sources}
    COMMAND protobuf::protoc -I ${api} --cpp_out=${out} --grpc_out=${out}
            --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin> ${version_protos}
    DEPENDS ${proto_files} COMMENT "Messages of the ${group} group" VERBATIM)
  set(conversions ${api}/${group}/conversions.textproto)
  add_custom_command(
    OUTPUT ${out}/csi_proxy/${group}/hub.cc ${convert_sources} ${service_sources} ${embedded_sources}
           ${client_sources} ${headers}
    COMMAND protobuf::protoc -I ${api} --plugin=$<TARGET_FILE:protoc-gen-csi-proxy>
            --csi-proxy_out=${out} --csi-proxy_opt=group=${group},conversions=${conversions}
            ${group}/hub.proto ${version_protos}
    DEPENDS protoc-gen-csi-proxy ${proto_files} ${api}/${group}/hub.proto ${api}/annotations.proto
            ${conversions}
    COMMENT "Conversions, services and clients of the ${group} group" VERBATIM)
  # Whoever includes a generated header must wait for it.
  add_custom_target(csi_proxy_generate_${group} DEPENDS ${headers} ${pb_headers})

  csi_proxy_generated_library(csi_proxy_hub_${group} SRCS ${out}/csi_proxy/${group}/hub.cc
    DEPS csi_proxy_base absl::status absl::statusor absl::strings)
  add_library(csi_proxy_api_${group} STATIC ${pb_sources})
  target_include_directories(csi_proxy_api_${group} PUBLIC ${CSI_PROXY_GENERATED})
  target_link_libraries(csi_proxy_api_${group} PUBLIC protobuf::libprotobuf)
  csi_proxy_generated_library(csi_proxy_convert_${group} SRCS ${convert_sources}
    DEPS csi_proxy_hub_${group} csi_proxy_api_${group})
  add_library(csi_proxy_grpc_pb_${group} STATIC ${grpc_sources})
  target_link_libraries(csi_proxy_grpc_pb_${group} PUBLIC csi_proxy_api_${group}
                        gRPC::grpc++_unsecure)
  csi_proxy_generated_library(csi_proxy_grpc_${group} SRCS ${service_sources}
    DEPS csi_proxy_convert_${group} csi_proxy_grpc_pb_${group} csi_proxy_shim csi_proxy_overrides)
  csi_proxy_generated_library(csi_proxy_embedded_${group} SRCS ${embedded_sources}
    DEPS csi_proxy_convert_${group} csi_proxy_executor csi_proxy_overrides)
  csi_proxy_generated_library(csi_proxy_client_${group} SRCS ${client_sources}
    DEPS csi_proxy_api_${group} csi_proxy_client_core)
  foreach(kind hub api convert grpc_pb grpc embedded client)
    add_dependencies(csi_proxy_${kind}_${group} csi_proxy_generate_${group})
  endforeach()
endfunction()

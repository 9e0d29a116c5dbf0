# csi_proxy_api_group(GROUP [API]): the targets of one API group, from its hub, its conversion table, its
# overrides and every <GROUP>/<version>/api.proto below API, by default api/. A new version only needs its
# file.
#
#   csi_proxy_hub_<group>      structs and abstract service (absl only)
#   csi_proxy_api_<group>      protobuf messages of all versions
#   csi_proxy_shim_<group>     the versions over the hub's service: conversions, shims and tables
#   csi_proxy_client_<group>   clients, for the modes that are linked too
#   csi_proxy_testing_<group>  clients and conversions by name, for tests
set(CSI_PROXY_GENERATED ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${CSI_PROXY_GENERATED})

# csi_proxy_groups(OUT): all groups: the folders of api/ that contain a hub.proto.
function(csi_proxy_groups out)
  file(GLOB groups RELATIVE ${PROJECT_SOURCE_DIR}/api CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/api/*/hub.proto)
  list(TRANSFORM groups REPLACE "/hub.proto$" "")
  set(${out} ${groups} PARENT_SCOPE)
endfunction()

# csi_proxy_versions(GROUP OUT [API]): all versions of a group, for example `v1;v1beta1`. API is the folder of
# the groups, by default api/.
function(csi_proxy_versions group out)
  set(api ${PROJECT_SOURCE_DIR}/api)
  if(ARGN)
    set(api ${ARGN})
  endif()
  file(GLOB versions RELATIVE ${api}/${group} CONFIGURE_DEPENDS ${api}/${group}/*/api.proto)
  list(TRANSFORM versions REPLACE "/api.proto$" "")
  set(${out} ${versions} PARENT_SCOPE)
endfunction()

# csi_proxy_any_message(GROUP VERSION OUT): the name of one message of the version, by which code finds the
# version's file and service at run time.
function(csi_proxy_any_message group version out)
  file(STRINGS ${PROJECT_SOURCE_DIR}/api/${group}/${version}/api.proto message REGEX "^message "
       LIMIT_COUNT 1)
  string(REGEX REPLACE "^message ([A-Za-z0-9]+).*" "\\1" message "${message}")
  set(${out} ${message} PARENT_SCOPE)
endfunction()

# csi_proxy_released_files(OUT): the api.proto files of all versions of all groups.
function(csi_proxy_released_files out)
  set(files)
  foreach(group ${CSI_PROXY_GROUPS})
    csi_proxy_versions(${group} versions)
    list(TRANSFORM versions REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/api/${group}/\\1/api.proto")
    list(APPEND files ${versions})
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# csi_proxy_rpc_paths(OUT FILE ...): the rpcs of the services in proto files, in the form `/v1.Disk/Rescan`.
function(csi_proxy_rpc_paths out)
  set(paths)
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} lines REGEX "^(package|service|  rpc) ")
    foreach(line ${lines})
      string(REGEX MATCH "(package|service|rpc) ([A-Za-z0-9_.]+)" line "${line}")
      set(${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
      if("${CMAKE_MATCH_1}" STREQUAL "rpc")
        list(APPEND paths /${package}.${service}/${rpc})
      endif()
    endforeach()
  endforeach()
  set(${out} ${paths} PARENT_SCOPE)
endfunction()

# csi_proxy_unity(TARGET): compiles the target's sources as one, because reading their headers takes most of
# the time.
function(csi_proxy_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
endfunction()

# Generated code is ours, so it is compiled with our warnings.
function(csi_proxy_generated_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  csi_proxy_library(${name} SRCS ${ARG_SRCS} DEPS ${ARG_DEPS})
  target_include_directories(${name} PUBLIC ${CSI_PROXY_GENERATED})
  csi_proxy_unity(${name})
endfunction()

function(csi_proxy_api_group group)
  set(api ${PROJECT_SOURCE_DIR}/api)
  if(ARGN)
    set(api ${ARGN})
  endif()
  set(out ${CSI_PROXY_GENERATED})
  csi_proxy_versions(${group} versions ${api})

  set(version_protos)
  set(pb_sources)
  set(pb_headers)
  set(shim_sources ${out}/csi_proxy/${group}/served_versions.cc)
  set(client_sources)
  set(testing_sources)
  set(headers)
  foreach(header audited faulty hub served_versions)
    list(APPEND headers ${out}/csi_proxy/${group}/${header}.h)
  endforeach()
  foreach(version ${versions})
    set(dir ${group}/${version})
    list(APPEND version_protos ${dir}/api.proto)
    list(APPEND pb_sources ${out}/${dir}/api.pb.cc)
    list(APPEND pb_headers ${out}/${dir}/api.pb.h)
    set(base ${out}/csi_proxy/${group}/${version})
    list(APPEND shim_sources ${base}/convert.cc ${base}/shim.cc)
    list(APPEND client_sources ${base}/client.cc ${base}/remote.cc)
    list(APPEND testing_sources ${base}/by_name.cc ${base}/round_trip.cc)
    foreach(header api by_name client convert methods remote round_trip shim)
      list(APPEND headers ${base}/${header}.h)
    endforeach()
  endforeach()
  # Hand-written code for the `override_message` rows.
  file(GLOB overrides CONFIGURE_DEPENDS ${api}/${group}/*.cc)
  set_source_files_properties(${overrides} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

  set(proto_files ${version_protos})
  list(TRANSFORM proto_files PREPEND ${api}/)
  add_custom_command(
    OUTPUT ${pb_sources} ${pb_headers}
    COMMAND protobuf::protoc -I ${api} --cpp_out=${out} ${version_protos}
    DEPENDS ${proto_files} COMMENT "Messages of the ${group} group" VERBATIM)
  set(conversions ${api}/${group}/conversions.textproto)
  add_custom_command(
    OUTPUT ${out}/csi_proxy/${group}/hub.cc ${shim_sources} ${client_sources} ${testing_sources}
           ${headers}
    COMMAND protobuf::protoc -I ${api} -I ${PROJECT_SOURCE_DIR}/api
            --plugin=$<TARGET_FILE:protoc-gen-csi-proxy> --csi-proxy_out=${out} --csi-proxy_opt=group=${group},conversions=${conversions}
            ${group}/hub.proto ${version_protos}
    DEPENDS protoc-gen-csi-proxy ${proto_files} ${api}/${group}/hub.proto
            ${PROJECT_SOURCE_DIR}/api/annotations.proto ${conversions}
    COMMENT "Conversions, shims and clients of the ${group} group" VERBATIM)
  # A target that includes a generated header must depend on it.
  add_custom_target(csi_proxy_generate_${group} DEPENDS ${headers} ${pb_headers})

  csi_proxy_generated_library(csi_proxy_hub_${group} SRCS ${out}/csi_proxy/${group}/hub.cc
    DEPS csi_proxy_base absl::status absl::statusor absl::strings)
  add_library(csi_proxy_api_${group} STATIC ${pb_sources})
  target_include_directories(csi_proxy_api_${group} PUBLIC ${CSI_PROXY_GENERATED})
  target_link_libraries(csi_proxy_api_${group} PUBLIC protobuf::libprotobuf)
  csi_proxy_unity(csi_proxy_api_${group})
  csi_proxy_precompile(csi_proxy_api_${group} protobuf)
  # protoc uses these two names in every file.
  set_target_properties(csi_proxy_api_${group} PROPERTIES UNITY_BUILD_UNIQUE_ID CSI_PROXY_UNITY_ID
    UNITY_BUILD_CODE_BEFORE_INCLUDE "#include <google/protobuf/generated_message_reflection.h>
#define CSI_PROXY_JOIN_(a, b) a##b
#define CSI_PROXY_JOIN(a, b) CSI_PROXY_JOIN_(a, b)
#define schemas CSI_PROXY_JOIN(schemas_, CSI_PROXY_UNITY_ID)
#define file_default_instances CSI_PROXY_JOIN(file_default_instances_, CSI_PROXY_UNITY_ID)")
  csi_proxy_generated_library(csi_proxy_shim_${group} SRCS ${shim_sources} ${overrides}
    DEPS csi_proxy_hub_${group} csi_proxy_api_${group} csi_proxy_calls)
  csi_proxy_generated_library(csi_proxy_client_${group} SRCS ${client_sources}
    DEPS csi_proxy_api_${group} csi_proxy_client_core)
  if(BUILD_TESTING)
    csi_proxy_generated_library(csi_proxy_testing_${group} SRCS ${testing_sources}
      DEPS csi_proxy_client_${group} csi_proxy_shim_${group})
  endif()
  foreach(kind hub api shim client testing)
    if(TARGET csi_proxy_${kind}_${group})
      add_dependencies(csi_proxy_${kind}_${group} csi_proxy_generate_${group})
    endif()
  endforeach()
endfunction()

# csi_proxy_stubs(GROUP VERSION): csi_proxy_stubs_<group>_<version>, gRPC's own code for a version. Only tests
# use it, for clients and services of other origin.
function(csi_proxy_stubs group version)
  set(target csi_proxy_stubs_${group}_${version})
  if(TARGET ${target})
    return()
  endif()
  set(api ${PROJECT_SOURCE_DIR}/api)
  set(proto ${group}/${version}/api.proto)
  set(base ${CSI_PROXY_GENERATED}/${group}/${version}/api.grpc.pb)
  add_custom_command(
    OUTPUT ${base}.cc ${base}.h
    COMMAND protobuf::protoc -I ${api} --grpc_out=${CSI_PROXY_GENERATED}
            --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin> ${proto}
    DEPENDS ${api}/${proto} COMMENT "gRPC stubs of ${group} ${version}" VERBATIM)
  add_library(${target} STATIC ${base}.cc ${base}.h)
  target_link_libraries(${target} PUBLIC csi_proxy_api_${group} gRPC::grpc++_unsecure)
  add_dependencies(${target} csi_proxy_generate_${group})
endfunction()

# Installs libraries for other projects, programs and the API's proto files.
#
# A library is composed of the objects of components, the targets of the folders. Each component is in one
# library only, because protobuf ends a process in which a message is registered twice.
include(CMakePackageConfigHelpers)
include(CsiProxyApi)
include(GNUInstallDirs)

set(INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/csi-proxy)
set(SHARE_DIR ${CMAKE_INSTALL_DATADIR}/csi-proxy)
set(PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/csi_proxy)
# The package's configuration lists the libraries, each after those that it needs, and their needs.
set(PACKAGE_LIBRARIES)
set(PACKAGE_TABLE)
add_custom_target(csi_proxy_installed)
if(WIN32)
  set(LIBRARY_TYPE STATIC)
else()
  set(LIBRARY_TYPE SHARED)
endif()

# csi_proxy_per_group(OUT KIND ...): the components of these kinds for all groups.
function(csi_proxy_per_group out)
  set(components)
  foreach(kind ${ARGN})
    foreach(group ${CSI_PROXY_GROUPS})
      list(APPEND components csi_proxy_${kind}_${group})
    endforeach()
  endforeach()
  set(${out} ${components} PARENT_SCOPE)
endfunction()

# csi_proxy_pkg_config(NAME DESCRIPTION REQUIRES LINK)
function(csi_proxy_pkg_config NAME DESCRIPTION REQUIRES LINK)
  string(REPLACE ";" " " REQUIRES "${REQUIRES}")
  file(RELATIVE_PATH PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" PREFIX ${PREFIX})
  string(REPLACE "_" "-" file csi-proxy-${NAME}.pc)
  configure_file(${PROJECT_SOURCE_DIR}/scripts/cmake/csi-proxy.pc.in
                 ${PROJECT_BINARY_DIR}/install/${file} @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/install/${file}
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()

# csi_proxy_export(TARGET NAME COMPONENT): installs a library as csi_proxy::NAME. Archives belong to
# COMPONENT.
function(csi_proxy_export target name component)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} INSTALL_RPATH $ORIGIN)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${INCLUDE_DIR}>)
  install(TARGETS ${target} EXPORT csi_proxy_${name}
          RUNTIME COMPONENT libraries
          LIBRARY COMPONENT libraries NAMELINK_COMPONENT development
          ARCHIVE COMPONENT ${component})
  install(EXPORT csi_proxy_${name} NAMESPACE csi_proxy:: FILE csi_proxy-${name}.cmake
          DESTINATION ${PACKAGE_DIR} COMPONENT development)
  add_dependencies(csi_proxy_installed ${target})
  list(APPEND PACKAGE_LIBRARIES ${name})
  set(PACKAGE_LIBRARIES ${PACKAGE_LIBRARIES} PARENT_SCOPE)
endfunction()

# csi_proxy_installed_library(NAME DESCRIPTION COMPONENTS target ... [NEEDS name ...]
#                             [PUBLIC target ...] [BACKEND] [OWN_GRPC])
# NEEDS are installed libraries, and PUBLIC other libraries, whose headers this library's headers include.
# Further libraries that the components link are linked, too. BACKEND: a program that links the library has
# the backend. OWN_GRPC: a shared library contains gRPC, because Debian has two, grpc++ and grpc++_unsecure,
# with the same symbols; a process that loads both hangs, and the driver chooses its own.
function(csi_proxy_installed_library name description)
  cmake_parse_arguments(ARG "BACKEND;OWN_GRPC" "" "COMPONENTS;NEEDS;PUBLIC" ${ARGN})
  set(library csi_proxy_installed_${name})
  set_property(TARGET ${ARG_COMPONENTS} PROPERTY CSI_PROXY_LIBRARY ${library})
  set(objects)
  set(includes)
  set(options)
  set(others)
  foreach(component ${ARG_COMPONENTS})
    list(APPEND objects $<TARGET_OBJECTS:${component}>)
    get_target_property(directories ${component} INTERFACE_INCLUDE_DIRECTORIES)
    list(APPEND includes ${directories})
    get_property(more TARGET ${component} PROPERTY INTERFACE_LINK_OPTIONS)
    list(APPEND options ${more})
    get_target_property(dependencies ${component} LINK_LIBRARIES)
    foreach(dependency ${dependencies})
      if(NOT dependency MATCHES "^csi_proxy_")
        list(APPEND others ${dependency})
        continue()
      endif()
      get_target_property(type ${dependency} TYPE)
      get_target_property(owner ${dependency} CSI_PROXY_LIBRARY)
      if(NOT owner AND NOT type STREQUAL INTERFACE_LIBRARY)
        message(FATAL_ERROR "${dependency}, which ${component} needs, is in no library: "
                            "name it in CsiProxyInstall.cmake")
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES includes)
  list(REMOVE_DUPLICATES others)
  list(REMOVE_ITEM others ${ARG_PUBLIC})
  if(ARG_OWN_GRPC AND NOT WIN32)
    # Listed before gRPC's targets, which then only add gRPC's own dependencies.
    foreach(archive gpr address_sorting upb grpc_unsecure grpc++_unsecure)
      find_library(CSI_PROXY_ARCHIVE_${archive} lib${archive}.a REQUIRED)
      list(PREPEND others ${CSI_PROXY_ARCHIVE_${archive}})
    endforeach()
  endif()

  add_library(${library} ${LIBRARY_TYPE} ${objects})
  add_dependencies(${library} ${ARG_COMPONENTS})
  set_target_properties(${library} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME csi_proxy_${name}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  target_compile_features(${library} INTERFACE cxx_std_20)
  target_include_directories(${library} INTERFACE "$<BUILD_INTERFACE:${includes}>")
  set(needs ${ARG_NEEDS})
  list(TRANSFORM needs PREPEND csi_proxy_installed_)
  target_link_libraries(${library} PUBLIC ${needs} ${ARG_PUBLIC} PRIVATE ${others})
  set(link -lcsi_proxy_${name})
  if(MSVC)
    target_link_options(${library} INTERFACE ${options})
  elseif(WIN32)
    # A program that links only the archive needs libssp for the functions of the stack guard.
    target_link_options(${library} INTERFACE ${options} -fstack-protector-strong)
  else()
    set(exports ${PROJECT_SOURCE_DIR}/client/cpp/exports/${name}.map)
    # Never unloaded, because protobuf's library stays loaded and would refuse to register the messages again.
    target_link_options(${library} PRIVATE LINKER:--version-script=${exports} LINKER:--as-needed
                        LINKER:-z,nodelete)
    set_property(TARGET ${library} PROPERTY LINK_DEPENDS ${exports})
    if(NOT CSI_PROXY_SANITIZE)
      target_link_options(${library} PRIVATE LINKER:-z,defs)
    endif()
    # Distributions link with --as-needed, which drops a library even if --undefined names its symbol.
    if(ARG_BACKEND)
      set(keep --push-state,--no-as-needed)
      target_link_options(${library} INTERFACE
        "LINKER:${keep},$<TARGET_FILE:$<TARGET_NAME:${library}>>,--pop-state")
      set(link -Wl,${keep},${link},--pop-state)
    endif()
  endif()

  # A program that links an archive also needs the archive's libraries. One that links a shared library needs
  # only those of its headers.
  set(packages ${ARG_PUBLIC})
  if(WIN32)
    list(APPEND packages ${others})
  else()
    set(requires ${ARG_NEEDS})
    list(TRANSFORM requires PREPEND csi-proxy-)
    list(TRANSFORM requires REPLACE "_" "-")
    set(others ${ARG_PUBLIC})
    list(TRANSFORM others REPLACE "absl::" "absl_")
    list(TRANSFORM others REPLACE "protobuf::libprotobuf" "protobuf")
    csi_proxy_pkg_config(${name} "${description}" "${requires};${others}" "${link}")
  endif()
  list(FILTER packages INCLUDE REGEX "::")
  list(TRANSFORM packages REPLACE "::.*" "")
  list(TRANSFORM packages REPLACE "gRPC" "ZLIB;gRPC")
  if(NOT CMAKE_CROSSCOMPILING)
    list(TRANSFORM packages REPLACE "protobuf" "Protobuf")
  endif()
  list(REMOVE_DUPLICATES packages)
  string(APPEND PACKAGE_TABLE "set(_csi_proxy_${name}_needs ${ARG_NEEDS})\n"
                              "set(_csi_proxy_${name}_packages ${packages})\n")
  set(PACKAGE_TABLE ${PACKAGE_TABLE} PARENT_SCOPE)
  csi_proxy_export(${library} ${name} development)
  set(PACKAGE_LIBRARIES ${PACKAGE_LIBRARIES} PARENT_SCOPE)
endfunction()

if(WIN32)
  set(CORE_WINDOWS csi_proxy_pipe)
  set(ENDPOINT_WINDOWS endpoint)
  set(HOST_WINDOWS csi_proxy_cim_com csi_proxy_windows_names csi_proxy_windows_os)
endif()

csi_proxy_installed_library(base "What the libraries of CSI Proxy share"
  PUBLIC absl::status absl::statusor absl::strings absl::synchronization absl::time
  COMPONENTS csi_proxy_base csi_proxy_names csi_proxy_platform csi_proxy_locks)

csi_proxy_per_group(HUBS hub)
csi_proxy_installed_library(node "A Windows node, or a simulated one, in the own process"
  NEEDS base
  COMPONENTS ${HUBS} ${HOST_WINDOWS} csi_proxy_cim csi_proxy_calls csi_proxy_groups
             csi_proxy_host csi_proxy_http csi_proxy_layouts_encode csi_proxy_log_line csi_proxy_machine
             csi_proxy_managed_node csi_proxy_node_calls csi_proxy_simulated_host csi_proxy_observability
             csi_proxy_own_node csi_proxy_own_simulated_node csi_proxy_simulated csi_proxy_simulated_admin
             csi_proxy_simulated_proto csi_proxy_simulated_scenario csi_proxy_simulated_win32
             csi_proxy_simulated_wmi)

csi_proxy_installed_library(testing "A simulated Windows node for the tests of drivers"
  NEEDS node
  COMPONENTS csi_proxy_simulated_node)

csi_proxy_per_group(CLIENTS api client)
csi_proxy_installed_library(client_api "Versioned clients of CSI Proxy, without a mode"
  NEEDS base PUBLIC protobuf::libprotobuf
  COMPONENTS ${CLIENTS} ${CORE_WINDOWS} csi_proxy_client_core)

# The libraries that gRPC needs on Windows for pipes and Unix sockets.
if(WIN32)
  csi_proxy_installed_library(endpoint "gRPC over pipes and sockets of Windows" NEEDS client_api
    COMPONENTS csi_proxy_pipe_endpoint csi_proxy_socket)
endif()

csi_proxy_installed_library(client "Versioned clients of the CSI Proxy service"
  BACKEND OWN_GRPC NEEDS client_api ${ENDPOINT_WINDOWS}
  COMPONENTS csi_proxy_remote)

csi_proxy_per_group(SHIMS shim)
csi_proxy_installed_library(embedded "Versioned clients of CSI Proxy in the own process"
  BACKEND NEEDS client_api node
  COMPONENTS ${SHIMS} csi_proxy_embedded)

csi_proxy_installed_library(sidecars "A driver's registration and health, in the own process"
  OWN_GRPC NEEDS base ${ENDPOINT_WINDOWS} PUBLIC absl::status absl::statusor absl::strings absl::time
  COMPONENTS csi_proxy_http csi_proxy_sidecars_core csi_proxy_sidecars_socket csi_proxy_sidecars_wire)

csi_proxy_export(csi_proxy_c c c_interface)
csi_proxy_pkg_config(c "CSI Proxy in the own process, for any language" "" -lcsi_proxy)

# Installs the C library and the libraries that it loads in one directory, for integration/clients/go.
if(WIN32)
  # For tests of drivers, not for nodes.
  set(TEST_LIBRARIES csi_proxy_c_simulated)
  install(TARGETS csi-proxy-simulated csi_proxy_c_simulated RUNTIME COMPONENT testing
          ARCHIVE COMPONENT testing)
  add_dependencies(csi_proxy_installed csi-proxy-simulated csi_proxy_c_simulated)
else()
  set(TEST_LIBRARIES csi_proxy_c)
  foreach(library base node client_api embedded)
    list(APPEND TEST_LIBRARIES csi_proxy_installed_${library})
  endforeach()
endif()
install(TARGETS ${TEST_LIBRARIES}
        RUNTIME DESTINATION . COMPONENT test_library EXCLUDE_FROM_ALL
        LIBRARY DESTINATION . COMPONENT test_library NAMELINK_SKIP EXCLUDE_FROM_ALL)

configure_package_config_file(${PROJECT_SOURCE_DIR}/scripts/cmake/csi_proxy-config.cmake.in
  ${PROJECT_BINARY_DIR}/install/csi_proxy-config.cmake INSTALL_DESTINATION ${PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/csi_proxy-config-version.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/install/csi_proxy-config.cmake
              ${PROJECT_BINARY_DIR}/install/csi_proxy-config-version.cmake
        DESTINATION ${PACKAGE_DIR} COMPONENT development)

# Hand-written headers, and those generated headers that programs include.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/client/include/csi_proxy
                  ${PROJECT_SOURCE_DIR}/client/testing/include/csi_proxy
                  ${PROJECT_SOURCE_DIR}/server/base/include/csi_proxy
        DESTINATION ${INCLUDE_DIR} COMPONENT development)
foreach(group ${CSI_PROXY_GROUPS})
  install(FILES ${CSI_PROXY_GENERATED}/csi_proxy/${group}/hub.h
          DESTINATION ${INCLUDE_DIR}/csi_proxy/${group} COMPONENT development)
  csi_proxy_versions(${group} versions)
  foreach(version ${versions})
    install(FILES ${CSI_PROXY_GENERATED}/csi_proxy/${group}/${version}/api.h
                  ${CSI_PROXY_GENERATED}/csi_proxy/${group}/${version}/client.h
            DESTINATION ${INCLUDE_DIR}/csi_proxy/${group}/${version} COMPONENT development)
    install(FILES ${CSI_PROXY_GENERATED}/${group}/${version}/api.pb.h
            DESTINATION ${INCLUDE_DIR}/${group}/${version} COMPONENT development)
  endforeach()
endforeach()

# The proto files of the API and of the simulated node, which import each other by paths in the repository.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/api DESTINATION ${SHARE_DIR} COMPONENT development
        FILES_MATCHING PATTERN "*.proto")
install(FILES ${PROJECT_SOURCE_DIR}/server/simulator/admin.proto
              ${PROJECT_SOURCE_DIR}/server/simulator/node.proto
        DESTINATION ${SHARE_DIR}/server/simulator COMPONENT development)

set(PROGRAMS csi-proxy csi-proxyctl csi-node-sidecars)
set(DOCUMENT_DIR ${CMAKE_INSTALL_DATADIR}/doc/csi-proxy)
if(WIN32)
  list(APPEND PROGRAMS csi-proxy-service)
  set(DOCUMENT_DIR .)
  # For building drivers in other languages, and for preparing a node.
  install(FILES ${PROJECT_SOURCE_DIR}/client/include/csi_proxy/csi_proxy.h
          DESTINATION ${INCLUDE_DIR}/csi_proxy COMPONENT c_interface)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/service_installer/windows/bootstrap DESTINATION ${SHARE_DIR}
          COMPONENT programs FILES_MATCHING PATTERN "*.ps1" PATTERN "README.md")
  install(FILES ${PROJECT_SOURCE_DIR}/service_installer/windows/node-check.ps1 DESTINATION ${SHARE_DIR} COMPONENT programs)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/service_installer/windows/node-check DESTINATION ${SHARE_DIR}
          COMPONENT programs FILES_MATCHING PATTERN "*.ps1")
  install(FILES ${PROJECT_SOURCE_DIR}/server/host/doubts.md DESTINATION ${SHARE_DIR}/node-check COMPONENT programs)
  # Licences of libraries that the programs contain must be installed. Debian's texts are those of the same
  # versions for Linux.
  foreach(package libabsl-dev libfmt-dev libgrpc-dev libnghttp2-dev libprotobuf-dev libspdlog-dev
          prometheus-cpp-dev gcc-mingw-w64-base mingw-w64-common libz-mingw-w64-dev)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION licenses RENAME ${package}.txt
            COMPONENT programs)
  endforeach()
  # Texts that Debian does not have: Boost's own, and those of gRPC's bundled code.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/scripts/release/licenses/ DESTINATION licenses
          COMPONENT programs FILES_MATCHING PATTERN "*.txt")
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION . COMPONENT programs)
else()
  # Debian requires the licence in each package, under this name.
  foreach(package programs=csi-proxy libraries=libcsi-proxy${PROJECT_VERSION_MAJOR}
          development=libcsi-proxy-dev)
    string(REGEX MATCH "^(.*)=(.*)$" package ${package})
    install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright COMPONENT ${CMAKE_MATCH_1}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CMAKE_MATCH_2})
  endforeach()
  # Licences of libraries that the programs contain must be installed.
  get_property(contained GLOBAL PROPERTY CSI_PROXY_CONTAINS)
  if(contained)
    foreach(package ${contained})
      install(FILES /usr/share/doc/${package}/copyright RENAME ${package}.txt COMPONENT programs
              DESTINATION ${DOCUMENT_DIR}/licenses)
    endforeach()
    install(FILES ${PROJECT_SOURCE_DIR}/scripts/release/licenses/utf8_range.txt
                  ${PROJECT_SOURCE_DIR}/scripts/release/licenses/xxhash.txt
            DESTINATION ${DOCUMENT_DIR}/licenses COMPONENT programs)
  endif()
endif()
install(TARGETS ${PROGRAMS} RUNTIME COMPONENT programs)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
              ${PROJECT_SOURCE_DIR}/SECURITY.md
        DESTINATION ${DOCUMENT_DIR} COMPONENT programs)
add_dependencies(csi_proxy_installed ${PROGRAMS})

include(CsiProxyPackages)

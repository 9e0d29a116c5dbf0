# What is installed: libraries for other projects, programs, the API's proto files.
#
# A library is composed of the objects of components, the targets of the folders. Each component is
# in one library: protobuf ends a process in which a message is registered twice.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/csi-proxy)
set(PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/csi_proxy)
if(WIN32)
  set(LIBRARY_TYPE STATIC)
else()
  set(LIBRARY_TYPE SHARED)
endif()

# csi_proxy_per_group(OUT KIND ...): the components of these kinds, of all groups.
function(csi_proxy_per_group out)
  set(components)
  foreach(kind ${ARGN})
    foreach(group ${CSI_PROXY_GROUPS})
      list(APPEND components csi_proxy_${kind}_${group})
    endforeach()
  endforeach()
  set(${out} ${components} PARENT_SCOPE)
endfunction()

# csi_proxy_installed_library(NAME COMPONENTS target ... [NEEDS name ...] [PUBLIC target ...]
#                             [DOOR])
# Libraries whose headers are included by those of this one are NEEDS, when they are installed here,
# or PUBLIC. It links whatever else the components link.
function(csi_proxy_installed_library name)
  cmake_parse_arguments(ARG "DOOR" "" "COMPONENTS;NEEDS;PUBLIC" ${ARGN})
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
    get_target_property(more ${component} INTERFACE_LINK_OPTIONS)
    if(more)
      list(APPEND options ${more})
    endif()
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

  add_library(${library} ${LIBRARY_TYPE} ${objects})
  add_library(csi_proxy::${name} ALIAS ${library})
  add_dependencies(${library} ${ARG_COMPONENTS})
  set_target_properties(${library} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME csi_proxy_${name}
    EXPORT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    INSTALL_RPATH $ORIGIN)
  target_compile_features(${library} INTERFACE cxx_std_20)
  target_include_directories(${library} INTERFACE "$<BUILD_INTERFACE:${includes}>"
                             $<INSTALL_INTERFACE:${INCLUDE_DIR}>)
  set(needs ${ARG_NEEDS})
  list(TRANSFORM needs PREPEND csi_proxy_installed_)
  target_link_libraries(${library} PUBLIC ${needs} ${ARG_PUBLIC} PRIVATE ${others})
  if(WIN32)
    target_link_options(${library} INTERFACE ${options})
  else()
    set(exports ${PROJECT_SOURCE_DIR}/client/exports/${name}.map)
    target_link_options(${library} PRIVATE LINKER:--version-script=${exports} LINKER:--as-needed)
    set_property(TARGET ${library} PROPERTY LINK_DEPENDS ${exports})
    if(NOT CSI_PROXY_SANITIZE)
      target_link_options(${library} PRIVATE LINKER:-z,defs)
    endif()
    if(ARG_DOOR)
      # No linker takes a library for needed because --undefined names its symbol, and distributions
      # link --as-needed.
      target_link_options(${library} INTERFACE
        "LINKER:--push-state,--no-as-needed,$<TARGET_FILE:$<TARGET_NAME:${library}>>,--pop-state")
    endif()
  endif()

  install(TARGETS ${library} EXPORT csi_proxy_${name}
          LIBRARY COMPONENT libraries NAMELINK_COMPONENT development
          ARCHIVE COMPONENT development)
  install(EXPORT csi_proxy_${name} NAMESPACE csi_proxy:: FILE csi_proxy-${name}.cmake
          DESTINATION ${PACKAGE_DIR} COMPONENT development)
endfunction()

if(WIN32)
  set(CORE_WINDOWS csi_proxy_pipe)
  set(REMOTE_WINDOWS csi_proxy_pipe_endpoint)
  set(HOST_WINDOWS csi_proxy_cim csi_proxy_cim_com csi_proxy_windows_host csi_proxy_windows_layouts
      csi_proxy_windows_names csi_proxy_windows_os)
endif()

csi_proxy_installed_library(base COMPONENTS csi_proxy_base
  PUBLIC absl::status absl::statusor absl::strings absl::synchronization absl::time)

csi_proxy_per_group(HUBS hub)
csi_proxy_installed_library(host NEEDS base
  COMPONENTS ${HUBS} ${HOST_WINDOWS} csi_proxy_executor csi_proxy_groups csi_proxy_log_line
             csi_proxy_node_host csi_proxy_observability csi_proxy_simulated
             csi_proxy_simulated_admin_methods csi_proxy_simulated_proto
             csi_proxy_simulated_scenario csi_proxy_windows_node)

csi_proxy_per_group(CLIENTS api client)
csi_proxy_installed_library(client_api NEEDS base PUBLIC protobuf::libprotobuf
  COMPONENTS ${CLIENTS} ${CORE_WINDOWS} csi_proxy_client_core)

csi_proxy_installed_library(client NEEDS client_api DOOR
  COMPONENTS ${REMOTE_WINDOWS} csi_proxy_remote)

csi_proxy_per_group(VERSIONS convert embedded)
csi_proxy_installed_library(embedded NEEDS client_api host DOOR
  COMPONENTS ${VERSIONS} csi_proxy_embedded csi_proxy_overrides)

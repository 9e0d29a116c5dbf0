# CPack makes three Debian packages of the installed files, and for Windows a ZIP for nodes and for drivers in
# other languages. C++ for Windows is built against the installed tree. DEBEMAIL and DEBFULLNAME name the
# maintainer, as for Debian's tools; by default the author of the last commit. Outside a clone cpack asks.
if(DEFINED ENV{DEBEMAIL})
  set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
else()
  execute_process(COMMAND git log -1 "--format=%aN <%aE>" WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE maintainer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(CSI_PROXY_MAINTAINER "${maintainer}" CACHE STRING "Who answers for the Debian packages")
set(CPACK_PACKAGE_VENDOR "CSI Proxy maintainers")
set(CPACK_PACKAGE_NAME csi-proxy)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Storage operations on Windows nodes, for CSI drivers")
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_RESOURCE_FILE_README ${PROJECT_SOURCE_DIR}/README.md)

if(WIN32)
  set(CPACK_GENERATOR ZIP)
  set(CPACK_COMPONENTS_ALL programs libraries c_interface)
  set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_PACKAGE_FILE_NAME csi-proxy-${PROJECT_VERSION}-windows-amd64)
else()
  set(CPACK_GENERATOR DEB)
  set(CPACK_COMPONENTS_ALL programs libraries development)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${CSI_PROXY_MAINTAINER})
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

  set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME csi-proxy)
  set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION admin)
  set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION
      "The service, with a simulated Windows node, its command line, and the sidecars of CSI drivers.")

  set(CPACK_DEBIAN_LIBRARIES_PACKAGE_NAME libcsi-proxy${PROJECT_VERSION_MAJOR})
  set(CPACK_DEBIAN_LIBRARIES_PACKAGE_SECTION libs)
  set(CPACK_COMPONENT_LIBRARIES_DESCRIPTION
      "Clients of the service, and the same operations in the own process.")

  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcsi-proxy-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
      "${CPACK_DEBIAN_LIBRARIES_PACKAGE_NAME} (= ${PROJECT_VERSION}), libabsl-dev")
  # The direct library and the C interface do not need it.
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS libprotobuf-dev)
  set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
      "Headers, CMake and pkg-config files, and the API's proto files.")
endif()
include(CPack)

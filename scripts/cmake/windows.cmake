# Builds the Windows programs with mingw-w64 and the libraries of scripts/build-windows-deps.sh, and runs
# their tests under Wine.
execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../build-windows-deps.sh --prefixes
                OUTPUT_VARIABLE CMAKE_PREFIX_PATH OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" CMAKE_PREFIX_PATH "${CMAKE_PREFIX_PATH}")
foreach(prefix ${CMAKE_PREFIX_PATH})
  if(NOT IS_DIRECTORY ${prefix})
    message(FATAL_ERROR "${prefix} is not there: run scripts/build-windows-deps.sh first")
  endif()
  # Keeps the libraries' paths out of the programs.
  cmake_path(GET prefix FILENAME library)
  string(APPEND CMAKE_CXX_FLAGS_INIT " -ffile-prefix-map=${prefix}=${library}")
endforeach()
include(${CMAKE_CURRENT_LIST_DIR}/mingw-w64.cmake)
set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/../../integration/wine/run)

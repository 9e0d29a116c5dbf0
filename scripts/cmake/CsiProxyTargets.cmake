# Compiler settings, and the functions by which every folder declares its targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# The linker writes the path of libraries in the build folder into programs, and its length remains after the
# install replaces it. A relative path is the same in all build folders.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

set(CSI_PROXY_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize= takes them")
option(CSI_PROXY_FUZZ "Build the libFuzzer targets (needs clang)" OFF)

option(CSI_PROXY_UNITY "Compile a dozen sources of a library as one" OFF)

# For our own code; generated protobuf code is compiled without them. Warnings are errors only in the presets
# of CI, because newer compilers and abseils have warnings of their own.
option(CSI_PROXY_WERROR "Treat warnings as errors" OFF)
if(MSVC)
  set(CSI_PROXY_WARNINGS /W4 $<$<BOOL:${CSI_PROXY_WERROR}>:/WX>)
else()
  set(CSI_PROXY_WARNINGS -Wall -Wextra $<$<BOOL:${CSI_PROXY_WERROR}>:-Werror>)
endif()

if(CSI_PROXY_SANITIZE)
  # GCC 12 has false warnings about variables that the sanitizers add.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_compile_options(-fsanitize=${CSI_PROXY_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CSI_PROXY_SANITIZE})
  if(CSI_PROXY_SANITIZE STREQUAL "thread")
    # protobuf's maps have two more members if this is defined, and Debian's library is built without it.
    add_compile_options(-U__SANITIZE_THREAD__ -D_GLIBCXX_TSAN=1)
  endif()
endif()
if(CSI_PROXY_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# A resident service should be small. Functions that nothing calls are removed.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
if(MSVC)
  # These options have never been tried, because only MinGW has built the project. MSVC's stack guard is on by default.
  set(CMAKE_MSVC_RUNTIME_LIBRARY "MultiThreaded$<$<CONFIG:Debug>:Debug>")
  add_compile_options(/Gy /Gw /bigobj /utf-8 /permissive- /Zc:__cplusplus)
  add_link_options(LINKER:/OPT:REF LINKER:/Brepro)
else()
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options(LINKER:--gc-sections)
endif()

# Functions with arrays check a guard value before they return. Sanitizers find more, and report the guard as
# an error.
if(NOT CSI_PROXY_SANITIZE AND NOT MSVC)
  add_compile_options(-fstack-protector-strong)
  add_link_options(-fstack-protector-strong)
  if(NOT WIN32)
    # Checks copies into arrays of known size, if code is optimised, and makes address tables read-only at run
    # time. scripts/release/README.md says what mingw-w64 cannot do.
    add_compile_options($<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
    add_link_options(LINKER:-z,relro LINKER:-z,now)
  endif()
endif()
if(NOT WIN32)
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES C CXX)
  # Set for all sources, because sources that share precompiled headers must have equal options.
  add_compile_options(-pthread)
endif()
if(WIN32)
  add_compile_definitions(_WIN32_WINNT=0x0A00 NOMINMAX UNICODE _UNICODE)
endif()
if(WIN32 AND NOT MSVC)
  # One file that runs on any node, and is identical wherever and whenever it is built.
  add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
  add_link_options(-static LINKER:--no-insert-timestamp $<$<CONFIG:Release>:-s>)
endif()

find_program(CSI_PROXY_LLD ld.lld)
if(CSI_PROXY_LLD AND NOT WIN32)
  add_link_options(-fuse-ld=lld LINKER:--icf=all)
elseif(CSI_PROXY_LLD AND NOT MSVC)
  # lld takes a seventh of the time of GCC's linker, and removes more unused code: 5 % of csi-proxy.exe. The
  # stack size is GCC's default. lld takes RtlUnwindEx and its like from the first DLL given; Microsoft's
  # pages name kernel32 for them, not ntdll. GCC's linker links the libraries, because lld would put the
  # simulator into csi_proxy.dll.
  set(CSI_PROXY_EXECUTABLE $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
  add_link_options($<${CSI_PROXY_EXECUTABLE}:-B${PROJECT_SOURCE_DIR}/scripts/cmake/mingw-lld>
                   $<${CSI_PROXY_EXECUTABLE}:LINKER:--stack=0x200000> $<${CSI_PROXY_EXECUTABLE}:-lkernel32>)
endif()

# Uses ccache if it is installed. All clones share its objects.
find_program(CSI_PROXY_CCACHE ccache)
if(CSI_PROXY_CCACHE AND (NOT CMAKE_CXX_COMPILER_LAUNCHER OR CMAKE_CXX_COMPILER_LAUNCHER STREQUAL "ccache"))
  # The last two variables are for precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CSI_PROXY_CCACHE})
endif()

include(CsiProxyPrecompiled)

# The suffix of platform-specific files.
if(WIN32)
  set(CSI_PROXY_PLATFORM windows)
else()
  set(CSI_PROXY_PLATFORM posix)
endif()

# csi_proxy_library(NAME SRCS a.cc ... [DEPS target ...] [PRECOMPILE kind])
# A static library. Headers are included by their path from the repository root. The kind of precompiled
# headers follows from the DEPS by default.
function(csi_proxy_library name)
  cmake_parse_arguments(ARG "" "PRECOMPILE" "SRCS;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${CSI_PROXY_WARNINGS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
  if(NOT ARG_PRECOMPILE)
    if(ARG_DEPS MATCHES "gRPC::")
      set(ARG_PRECOMPILE grpc)
    elseif(ARG_DEPS MATCHES "protobuf::|_proto(;|$)|csi_proxy_(api|client|shim)_")
      set(ARG_PRECOMPILE protobuf)
    else()
      set(ARG_PRECOMPILE base)
    endif()
  endif()
  csi_proxy_precompile(${name} ${ARG_PRECOMPILE})
  if(CSI_PROXY_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()

# csi_proxy_header_library(NAME [DEPS target ...])
function(csi_proxy_header_library name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  add_library(${name} INTERFACE)
  target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} INTERFACE ${ARG_DEPS})
endfunction()

# csi_proxy_program(TARGET): a program that starts with CSI_PROXY_MAIN (server/platform/program.h).
function(csi_proxy_program PROGRAM)
  target_link_libraries(${PROGRAM} PRIVATE csi_proxy_platform)
  if(MSVC)
    # DLLs are loaded from System32 only. For GCC, load_config.py writes this into the program.
    target_link_options(${PROGRAM} PRIVATE LINKER:/DEPENDENTLOADFLAG:0x800)
  elseif(WIN32)
    target_link_options(${PROGRAM} PRIVATE -municode)
    add_custom_command(TARGET ${PROGRAM} POST_BUILD VERBATIM
      COMMAND ${PROJECT_SOURCE_DIR}/scripts/cmake/load_config.py enter $<TARGET_FILE:${PROGRAM}>)
  endif()
endfunction()

# csi_proxy_contain_libraries(PROGRAM): links protobuf, Abseil and gRPC statically, as far as the program uses
# them, because loading their fifty shared libraries takes longer than the rest of the start, takes memory, and
# sends each call through a table.
# lld takes the first definition of a symbol, which is the archives', and drops unused shared libraries; other
# linkers would mix both. lld 19, Debian 13's, prefers a shared library to an archive of which nothing is used
# yet, so Abseil's strings, which our libraries use late, are linked first.
function(csi_proxy_contain_libraries PROGRAM)
  if(NOT CSI_PROXY_LLD OR WIN32 OR CSI_PROXY_SANITIZE)
    return()
  endif()
  # Without --exclude-libs, the program would keep and export whatever the unused libraries call.
  target_link_options(${PROGRAM} PRIVATE LINKER:--as-needed LINKER:--exclude-libs,ALL)
  foreach(name grpc++_unsecure grpc_unsecure gpr upb address_sorting re2 cares z protobuf)
    find_library(CSI_PROXY_ARCHIVE_${name} NAMES lib${name}.a REQUIRED)
    target_link_libraries(${PROGRAM} PRIVATE ${CSI_PROXY_ARCHIVE_${name}})
  endforeach()
  cmake_path(GET CSI_PROXY_ARCHIVE_grpc_unsecure PARENT_PATH directory)
  file(GLOB abseil CONFIGURE_DEPENDS ${directory}/libabsl_*.a)
  list(REMOVE_ITEM abseil ${directory}/libabsl_strings.a)
  target_link_libraries(${PROGRAM} PRIVATE
    "$<LINK_LIBRARY:WHOLE_ARCHIVE,${directory}/libabsl_strings.a>" ${abseil})
  # Licences of these packages must be installed beside the program.
  set_property(GLOBAL PROPERTY CSI_PROXY_CONTAINS
               libabsl-dev libc-ares-dev libgrpc-dev libprotobuf-dev libre2-dev zlib1g-dev)
  add_test(NAME ${PROGRAM}_libraries COMMAND ${PROJECT_SOURCE_DIR}/client/cpp/exports/symbols_test.sh static
           $<TARGET_FILE:${PROGRAM}>)
endfunction()

# csi_proxy_keep_symbol(TARGET SYMBOL): programs that link the library keep the C function, although nothing
# calls it.
function(csi_proxy_keep_symbol target symbol)
  if(MSVC)
    target_link_options(${target} INTERFACE LINKER:/INCLUDE:${symbol})
  else()
    target_link_options(${target} INTERFACE LINKER:--undefined=${symbol})
  endif()
endfunction()

# csi_proxy_version_resource(TARGET DESCRIPTION): the version that Windows shows of a program or DLL.
function(csi_proxy_version_resource PROGRAM DESCRIPTION)
  if(WIN32)
    get_target_property(type ${PROGRAM} TYPE)
    set(FILE ${PROGRAM}.exe)
    set(FILE_TYPE VFT_APP)
    if(type STREQUAL SHARED_LIBRARY)
      get_target_property(FILE ${PROGRAM} OUTPUT_NAME)
      string(APPEND FILE .dll)
      set(FILE_TYPE VFT_DLL)
    endif()
    configure_file(${PROJECT_SOURCE_DIR}/scripts/cmake/version.rc.in
                   ${CMAKE_CURRENT_BINARY_DIR}/${PROGRAM}.rc @ONLY)
    target_sources(${PROGRAM} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${PROGRAM}.rc)
  endif()
endfunction()

# Tests spend their time in libraries, which are optimised like the product.
function(csi_proxy_test_options target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# csi_proxy_test(NAME SRCS a_test.cc ... [DEPS target ...] [TIMEOUT seconds] [ENV "K=V" ...] [PREFIX p])
# A GoogleTest binary. Each of its tests is a ctest test. Under Wine, where starting takes long and pipes have
# one namespace, the binary is one test and runs alone.
function(csi_proxy_test name)
  if(NOT BUILD_TESTING)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT;PREFIX" "SRCS;DEPS;ENV" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${CSI_PROXY_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest GTest::gtest_main)
  csi_proxy_test_options(${name})
  csi_proxy_precompile(${name} test)
  csi_proxy_test_run(${name} ${name} TIMEOUT ${ARG_TIMEOUT} PREFIX "${ARG_PREFIX}" ENV ${ARG_ENV})
endfunction()

# csi_proxy_test_run(TEST NAME [TIMEOUT seconds] [ENV "K=V" ...] [PREFIX p])
# Runs the binary of the csi_proxy_test TEST again as the test NAME, in another environment.
function(csi_proxy_test_run test name)
  if(NOT BUILD_TESTING)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT;PREFIX" "ENV" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(CMAKE_CROSSCOMPILING)
    add_test(NAME ${name} COMMAND ${test})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${ARG_ENV}"
                         RUN_SERIAL ON FIXTURES_REQUIRED wine)
    return()
  endif()
  gtest_discover_tests(${test} TEST_PREFIX "${ARG_PREFIX}" DISCOVERY_MODE PRE_TEST
                       PROPERTIES TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${ARG_ENV}")
endfunction()
include(GoogleTest)

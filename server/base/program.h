// Starts a program of ours on Windows: guarded against DLLs that others put in its way, and with
// its arguments as Windows has them, in Unicode.
#pragma once

#ifdef _WIN32
#include <filesystem>
#endif

namespace csi_proxy {

using MainFunction = int (*)(int argc, char** argv);

#ifdef _WIN32
// Guards the process, then calls `main` with the arguments in UTF-8.
int RunProgram(int argc, wchar_t** argv, MainFunction main);

// The file of the running program. Not argv[0], which is whatever the caller says.
std::filesystem::path ProgramFile();
#endif

}  // namespace csi_proxy

// The entry point, which calls `function`.
#ifdef _WIN32
#define CSI_PROXY_MAIN(function)                        \
  extern "C" int wmain(int argc, wchar_t** argv) {      \
    return csi_proxy::RunProgram(argc, argv, function); \
  }
#else
#define CSI_PROXY_MAIN(function) \
  int main(int argc, char** argv) { return function(argc, argv); }
#endif

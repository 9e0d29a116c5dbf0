// The entry point of our programs. On Windows it guards the process against planted DLLs and passes
// the arguments as UTF-8.
#pragma once

#ifdef _WIN32
#include <filesystem>
#endif

namespace csi_proxy {

using MainFunction = int (*)(int argc, char** argv);

#ifdef _WIN32
// Guards the process, then calls `main` with the arguments in UTF-8.
int RunProgram(int argc, wchar_t** argv, MainFunction main);

// Returns the path of the running program. The parent process cannot forge it, unlike argv[0].
std::filesystem::path ProgramFile();
#endif

}  // namespace csi_proxy

// Defines the program's entry point, which calls `function`.
#ifdef _WIN32
#define CSI_PROXY_MAIN(function)                        \
  extern "C" int wmain(int argc, wchar_t** argv) {      \
    return csi_proxy::RunProgram(argc, argv, function); \
  }
#else
#define CSI_PROXY_MAIN(function) \
  int main(int argc, char** argv) { return function(argc, argv); }
#endif

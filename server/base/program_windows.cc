#include <windows.h>

#include <cstddef>
#include <string>
#include <vector>

#include "server/base/program.h"
#include "server/base/win32.h"

// The load configuration of the program, which scripts/cmake/load_config.py enters into its header,
// for GCC's linker does not. Its one setting is that the DLLs the program is linked with come from
// System32: those that are not KnownDLLs Windows looks for in the program's folder first
// (https://learn.microsoft.com/cpp/build/reference/dependentloadflag).
// This is werapi.h's, which mingw-w64 10 has in a form that does not compile.
extern "C" HRESULT WINAPI WerSetFlags(DWORD flags);

namespace csi_proxy {
namespace {

struct LoadConfig {
  char mark[16] = "csi-proxy load";
  IMAGE_LOAD_CONFIG_DIRECTORY64 directory{};
};
constexpr LoadConfig MakeLoadConfig() {
  LoadConfig config;
  config.directory.Size = sizeof(config.directory);
  // DependentLoadFlags, in the words of a newer winnt.h.
  config.directory.Reserved1 = LOAD_LIBRARY_SEARCH_SYSTEM32;
  return config;
}
constinit const LoadConfig kLoadConfig = MakeLoadConfig();
static_assert(offsetof(IMAGE_LOAD_CONFIG_DIRECTORY64, Reserved1) == 78);

constexpr DWORD kNoHeap = 1;  // WER_FAULT_REPORTING_FLAG_NOHEAP

// A guard that cannot be set is left out: no release of Windows must be kept out.
void GuardProcess() {
  // DLLs come from System32, unless they are asked for by a full path, as COM does
  // (https://learn.microsoft.com/windows/win32/api/libloaderapi/nf-libloaderapi-setdefaultdlldirectories).
  SetDefaultDllDirectories(LOAD_LIBRARY_SEARCH_SYSTEM32);
  // None comes from a share or from a file that a process of low integrity has written
  // (https://learn.microsoft.com/windows/win32/api/winnt/ns-winnt-process_mitigation_image_load_policy).
  PROCESS_MITIGATION_IMAGE_LOAD_POLICY images{};
  images.NoRemoteImages = 1;
  images.NoLowMandatoryLabelImages = 1;
  images.PreferSystem32Images = 1;
  SetProcessMitigationPolicy(ProcessImageLoadPolicy, &images, sizeof(images));
  // None is loaded into every process by AppInit_DLLs, as a layered service provider of Winsock or
  // as a hook
  // (https://learn.microsoft.com/windows/win32/api/winnt/ns-winnt-process_mitigation_extension_point_disable_policy).
  PROCESS_MITIGATION_EXTENSION_POINT_DISABLE_POLICY extensions{};
  extensions.DisableExtensionPoints = 1;
  SetProcessMitigationPolicy(ProcessExtensionPointDisablePolicy, &extensions, sizeof(extensions));
  // An error report has no heap, where passwords may be
  // (https://learn.microsoft.com/windows/win32/api/werapi/nf-werapi-wersetflags).
  WerSetFlags(kNoHeap);
}

}  // namespace

int RunProgram(int argc, wchar_t** argv, MainFunction main) {
  GuardProcess();
  // Keeps the configuration in the program.
  if (*static_cast<const volatile char*>(kLoadConfig.mark) == '\0') return 1;
  std::vector<std::string> words;
  for (int i = 0; i < argc; ++i) words.push_back(win32::Utf8(argv[i]));
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return main(argc, pointers.data());
}

std::filesystem::path ProgramFile() {
  std::wstring path(32768, L'\0');
  path.resize(GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size())));
  return path;
}

}  // namespace csi_proxy

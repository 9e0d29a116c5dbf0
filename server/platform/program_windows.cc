#include <windows.h>

#include <cstddef>
#include <string>
#include <vector>

#include "server/platform/program.h"
#include "server/platform/win32.h"

// werapi.h declares this function, but mingw-w64 10's werapi.h does not compile.
extern "C" HRESULT WINAPI WerSetFlags(DWORD flags);

namespace csi_proxy {
namespace {

// The program's load configuration. scripts/cmake/load_config.py enters it into the header, because
// GCC's linker does not. With the configuration, Windows loads the linked DLLs from System32.
// Without the configuration, Windows first looks in the program's folder for DLLs that are not
// KnownDLLs (https://learn.microsoft.com/cpp/build/reference/dependentloadflag).
struct LoadConfig {
  char mark[16] = "csi-proxy load";
  IMAGE_LOAD_CONFIG_DIRECTORY64 directory{};
};
constexpr LoadConfig MakeLoadConfig() {
  LoadConfig config;
  config.directory.Size = sizeof(config.directory);
  // Newer versions of winnt.h call this field DependentLoadFlags.
  config.directory.Reserved1 = LOAD_LIBRARY_SEARCH_SYSTEM32;
  return config;
}
constinit const LoadConfig kLoadConfig = MakeLoadConfig();
static_assert(offsetof(IMAGE_LOAD_CONFIG_DIRECTORY64, Reserved1) == 78);

constexpr DWORD kNoHeap = 1;  // WER_FAULT_REPORTING_FLAG_NOHEAP

// Guards the process. Ignores failures, so that the program starts on every Windows.
void GuardProcess() {
  // Load DLLs from System32 only, unless they are named by full path, as COM names its servers
  // (https://learn.microsoft.com/windows/win32/api/libloaderapi/nf-libloaderapi-setdefaultdlldirectories).
  SetDefaultDllDirectories(LOAD_LIBRARY_SEARCH_SYSTEM32);
  // Load no image from a share, or from a file that a process of low integrity has written, and
  // prefer the images in System32
  // (https://learn.microsoft.com/windows/win32/api/winnt/ns-winnt-process_mitigation_image_load_policy).
  PROCESS_MITIGATION_IMAGE_LOAD_POLICY images{};
  images.NoRemoteImages = 1;
  images.NoLowMandatoryLabelImages = 1;
  images.PreferSystem32Images = 1;
  SetProcessMitigationPolicy(ProcessImageLoadPolicy, &images, sizeof(images));
  // Load no DLL through AppInit_DLLs, a layered service provider of Winsock or a hook
  // (https://learn.microsoft.com/windows/win32/api/winnt/ns-winnt-process_mitigation_extension_point_disable_policy).
  PROCESS_MITIGATION_EXTENSION_POINT_DISABLE_POLICY extensions{};
  extensions.DisableExtensionPoints = 1;
  SetProcessMitigationPolicy(ProcessExtensionPointDisablePolicy, &extensions, sizeof(extensions));
  // Keep the heap out of error reports, because the heap may hold passwords
  // (https://learn.microsoft.com/windows/win32/api/werapi/nf-werapi-wersetflags).
  WerSetFlags(kNoHeap);
}

}  // namespace

int RunProgram(int argc, wchar_t** argv, MainFunction main) {
  GuardProcess();
  // This use keeps the linker from dropping the configuration.
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

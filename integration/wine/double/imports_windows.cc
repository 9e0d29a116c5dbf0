#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "integration/wine/double/hooks_windows.h"

namespace csi_proxy::node_double {
namespace {

struct Replacement {
  const char* import;
  void* function;
};

// Fails to compile if hooks::Name has another type than the original.
#define REPLACEMENT(Name) \
  { #Name, reinterpret_cast < void*>(static_cast <decltype(&::Name)>(&hooks::Name)) }

const Replacement kReplacements[] = {
    REPLACEMENT(CloseHandle),
    REPLACEMENT(CloseServiceHandle),
    REPLACEMENT(ControlService),
    REPLACEMENT(CreateDirectoryW),
    REPLACEMENT(CreateFileW),
    REPLACEMENT(CreateSymbolicLinkW),
    REPLACEMENT(DeleteFileW),
    REPLACEMENT(DeleteVolumeMountPointW),
    REPLACEMENT(DeviceIoControl),
    REPLACEMENT(EnumDependentServicesW),
    REPLACEMENT(FindClose),
    REPLACEMENT(FindFirstFileW),
    REPLACEMENT(FindFirstVolumeW),
    REPLACEMENT(FindNextFileW),
    REPLACEMENT(FindNextVolumeW),
    REPLACEMENT(FindVolumeClose),
    REPLACEMENT(FlushFileBuffers),
    REPLACEMENT(GetDiskFreeSpaceExW),
    REPLACEMENT(GetFileAttributesExW),
    REPLACEMENT(GetFileAttributesW),
    REPLACEMENT(GetFileInformationByHandle),
    REPLACEMENT(GetFileInformationByHandleEx),
    REPLACEMENT(GetFileType),
    REPLACEMENT(GetProcAddress),
    REPLACEMENT(GetSystemFirmwareTable),
    REPLACEMENT(GetVolumeInformationW),
    REPLACEMENT(GetVolumeNameForVolumeMountPointW),
    REPLACEMENT(GetVolumePathNameW),
    REPLACEMENT(GetVolumePathNamesForVolumeNameW),
    REPLACEMENT(NtCreateFile),
    REPLACEMENT(OpenSCManagerW),
    REPLACEMENT(OpenServiceW),
    REPLACEMENT(QueryServiceConfigW),
    REPLACEMENT(QueryServiceStatusEx),
    REPLACEMENT(ReadFile),
    REPLACEMENT(RemoveDirectoryW),
    REPLACEMENT(SetFileInformationByHandle),
    REPLACEMENT(SetVolumeMountPointW),
    REPLACEMENT(StartServiceW),
};

#undef REPLACEMENT

void* Find(const char* import) {
  for (const Replacement& replacement : kReplacements) {
    if (std::strcmp(replacement.import, import) == 0) return replacement.function;
  }
  return nullptr;
}

void Replace(IMAGE_THUNK_DATA& thunk, void* function) {
  DWORD protection = 0;
  VirtualProtect(&thunk, sizeof(thunk), PAGE_READWRITE, &protection);
  thunk.u1.Function = reinterpret_cast<ULONGLONG>(function);
  VirtualProtect(&thunk, sizeof(thunk), protection, &protection);
}

// Replaces the imports of a module. Their layout is the .idata section of
// learn.microsoft.com/windows/win32/debug/pe-format.
void ReplaceImports(HMODULE module) {
  auto* const base = reinterpret_cast<uint8_t*>(module);
  const auto* const dos = reinterpret_cast<const IMAGE_DOS_HEADER*>(base);
  const auto* const headers = reinterpret_cast<const IMAGE_NT_HEADERS*>(base + dos->e_lfanew);
  const IMAGE_DATA_DIRECTORY& imports =
      headers->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT];
  auto* dll = reinterpret_cast<const IMAGE_IMPORT_DESCRIPTOR*>(base + imports.VirtualAddress);
  for (; dll->Name != 0; ++dll) {
    auto* name = reinterpret_cast<const IMAGE_THUNK_DATA*>(base + dll->OriginalFirstThunk);
    auto* address = reinterpret_cast<IMAGE_THUNK_DATA*>(base + dll->FirstThunk);
    for (; name->u1.AddressOfData != 0; ++name, ++address) {
      if (IMAGE_SNAP_BY_ORDINAL(name->u1.Ordinal)) continue;
      const auto* const import =
          reinterpret_cast<const IMAGE_IMPORT_BY_NAME*>(base + name->u1.AddressOfData);
      void* const function = Find(reinterpret_cast<const char*>(import->Name));
      if (function != nullptr) Replace(*address, function);
    }
  }
}

// Returns true if the program is written in Go. Go's linker leaves this magic for `go version`
// (debug/buildinfo).
bool IsGo(HMODULE module) {
  constexpr std::string_view kMagic = "\xff Go buildinf:";
  const auto* const base = reinterpret_cast<const uint8_t*>(module);
  const auto* const dos = reinterpret_cast<const IMAGE_DOS_HEADER*>(base);
  const auto* const headers = reinterpret_cast<const IMAGE_NT_HEADERS*>(base + dos->e_lfanew);
  const IMAGE_SECTION_HEADER* section = IMAGE_FIRST_SECTION(headers);
  for (int i = 0; i < headers->FileHeader.NumberOfSections; ++i, ++section) {
    const std::string_view data(reinterpret_cast<const char*>(base + section->VirtualAddress),
                                section->Misc.VirtualSize);
    const bool may_read = (section->Characteristics & IMAGE_SCN_MEM_READ) != 0;
    if (may_read && data.find(kMagic) != std::string_view::npos) return true;
  }
  return false;
}

// Replaces the addresses that a Go program has already looked up, anywhere in its heap.
void ReplaceLookedUp() {
  std::map<uintptr_t, uintptr_t> functions;
  for (const Replacement& replacement : kReplacements) {
    for (const wchar_t* const dll : {L"kernel32.dll", L"ntdll.dll", L"advapi32.dll"}) {
      const FARPROC original = ::GetProcAddress(GetModuleHandleW(dll), replacement.import);
      if (original == nullptr) continue;
      functions.emplace(reinterpret_cast<uintptr_t>(original),
                        reinterpret_cast<uintptr_t>(replacement.function));
    }
  }
  MEMORY_BASIC_INFORMATION memory{};
  for (uint8_t* region = nullptr; VirtualQuery(region, &memory, sizeof(memory)) != 0;
       region = static_cast<uint8_t*>(memory.BaseAddress) + memory.RegionSize) {
    if (memory.State != MEM_COMMIT || memory.Type != MEM_PRIVATE ||
        memory.Protect != PAGE_READWRITE) {
      continue;
    }
    auto* word = static_cast<uintptr_t*>(memory.BaseAddress);
    for (size_t left = memory.RegionSize / sizeof(*word); left > 0; --left, ++word) {
      const auto function = functions.find(*word);
      // Skips the keys of `functions`, which also lie in the heap.
      if (function != functions.end() && word != &function->first) *word = function->second;
    }
  }
}

}  // namespace

FARPROC WINAPI hooks::GetProcAddress(HMODULE module, LPCSTR name) {
  const FARPROC original = ::GetProcAddress(module, name);
  // A name below 64 Ki is an ordinal.
  if (original == nullptr || reinterpret_cast<uintptr_t>(name) <= 0xFFFF) return original;
  void* const function = Find(name);
  return function != nullptr ? reinterpret_cast<FARPROC>(function) : original;
}

void ReplaceImports() {
  ReplaceImports(GetModuleHandleW(nullptr));
  if (IsGo(GetModuleHandleW(nullptr))) ReplaceLookedUp();
}

void ReplaceImportsOfLibrary() {
  static absl::Mutex mutex;
  static HMODULE done = nullptr;
  const absl::MutexLock lock(&mutex);
  HMODULE const library = GetModuleHandleW(L"csi_proxy.dll");
  if (library == done) return;
  if (library != nullptr) ReplaceImports(library);
  done = library;
}

}  // namespace csi_proxy::node_double

#include "integration/wine/node/imports_windows.h"

#include <cstdint>
#include <cstring>

#include "integration/wine/node/hooks_windows.h"

namespace csi_proxy::node_double {
namespace {

struct Replacement {
  const char* import;
  void* function;
};

// A function by its name, which must have the type of its original.
#define REPLACEMENT(Name) \
  { #Name, reinterpret_cast < void*>(static_cast <decltype(&::Name)>(&hooks::Name)) }

const Replacement kReplacements[] = {
    REPLACEMENT(CloseHandle),
    REPLACEMENT(CloseServiceHandle),
    REPLACEMENT(ControlService),
    REPLACEMENT(CreateFileW),
    REPLACEMENT(DeleteVolumeMountPointW),
    REPLACEMENT(DeviceIoControl),
    REPLACEMENT(EnumDependentServicesW),
    REPLACEMENT(FindFirstVolumeW),
    REPLACEMENT(FindNextVolumeW),
    REPLACEMENT(FindVolumeClose),
    REPLACEMENT(FlushFileBuffers),
    REPLACEMENT(GetDiskFreeSpaceExW),
    REPLACEMENT(GetFileAttributesW),
    REPLACEMENT(GetFileInformationByHandleEx),
    REPLACEMENT(GetSystemFirmwareTable),
    REPLACEMENT(GetVolumeInformationW),
    REPLACEMENT(GetVolumeNameForVolumeMountPointW),
    REPLACEMENT(NtCreateFile),
    REPLACEMENT(OpenSCManagerW),
    REPLACEMENT(OpenServiceW),
    REPLACEMENT(QueryServiceConfigW),
    REPLACEMENT(QueryServiceStatusEx),
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

// The layout is learn.microsoft.com/windows/win32/debug/pe-format, the .idata section.
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

}  // namespace

void ReplaceImports() {
  ReplaceImports(GetModuleHandleW(nullptr));
  HMODULE const embedded = GetModuleHandleW(L"csi_proxy.dll");
  if (embedded != nullptr) ReplaceImports(embedded);
}

}  // namespace csi_proxy::node_double

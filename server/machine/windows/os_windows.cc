// Implements Os with Win32. os_files_windows.cc implements files.
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/machine/os.h"
#include "server/machine/windows/device_changes_windows.h"
#include "server/machine/windows/names.h"
#include "server/machine/windows/network_names_windows.h"
#include "server/machine/windows/os_files_windows.h"
#include "server/platform/token_windows.h"

namespace csi_proxy::machine {
namespace {

// `RSMB`, a provider of GetSystemFirmwareTable.
constexpr DWORD kRawSmbios = 0x52534D42;

using UniqueFind = win32::Unique<HANDLE, &FindVolumeClose>;

// Converts text for a call that would stop reading at a NUL. Returns ERROR_INVALID_NAME for a NUL.
absl::StatusOr<std::wstring> WholeText(const std::string& text) {
  if (text.find('\0') != std::string::npos) {
    return win32::ToStatus(ERROR_INVALID_NAME, "a name with a NUL");
  }
  return win32::Utf16(text);
}

absl::StatusOr<win32::UniqueHandle> OpenDevice(const std::string& device, DWORD access) {
  ABSL_ASSIGN_OR_RETURN(const std::wstring name, WholeText(device));
  win32::UniqueHandle handle(CreateFileW(name.c_str(), access, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                         nullptr, OPEN_EXISTING, 0, nullptr));
  if (!handle.valid()) return win32::LastError("CreateFile");
  return handle;
}

absl::StatusOr<win32::UniqueServiceHandle> OpenServiceFor(const std::string& name, DWORD access) {
  ABSL_ASSIGN_OR_RETURN(const std::wstring wide, WholeText(name));
  const win32::UniqueServiceHandle manager(
      OpenSCManagerW(nullptr, SERVICES_ACTIVE_DATABASEW, SC_MANAGER_CONNECT));
  if (!manager.valid()) return win32::LastError("OpenSCManager");
  win32::UniqueServiceHandle service(OpenServiceW(manager.get(), wide.c_str(), access));
  if (!service.valid()) return win32::LastError("OpenService");
  return service;
}

constexpr DWORD AccessMask(DeviceAccess access) {
  switch (access) {
    case DeviceAccess::kNone:
      return 0;
    case DeviceAccess::kRead:
      return GENERIC_READ;
    case DeviceAccess::kReadWrite:
      return GENERIC_READ | GENERIC_WRITE;
  }
  return 0;
}

class WindowsOs final : public Os {
 public:
  absl::StatusOr<std::unique_ptr<File>> OpenRoot(const std::string& root) override {
    return OpenRootDirectory(root);
  }

  absl::Status Reach(const std::string& path) override {
    ABSL_ASSIGN_OR_RETURN(const std::wstring name, WholeText(VerbatimPath(path)));
    if (GetFileAttributesW(name.c_str()) == INVALID_FILE_ATTRIBUTES) {
      return win32::LastError("GetFileAttributes");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> ListVolumes() override {
    wchar_t name[MAX_PATH];
    const UniqueFind find(FindFirstVolumeW(name, MAX_PATH));
    if (!find.valid()) return win32::LastError("FindFirstVolume");
    std::vector<std::string> names;
    do {
      names.push_back(win32::Utf8(name));
    } while (FindNextVolumeW(find.get(), name, MAX_PATH));
    if (GetLastError() != ERROR_NO_MORE_FILES) return win32::LastError("FindNextVolume");
    return names;
  }

  absl::StatusOr<std::string> GetVolumeOfDrive(char drive) override {
    const wchar_t root[] = {static_cast<unsigned char>(drive), L':', L'\\', L'\0'};
    wchar_t name[MAX_PATH];
    if (!GetVolumeNameForVolumeMountPointW(root, name, MAX_PATH)) {
      return win32::LastError("GetVolumeNameForVolumeMountPoint");
    }
    return win32::Utf8(name);
  }

  absl::StatusOr<FileSystem> GetFileSystem(const std::string& volume) override {
    ABSL_ASSIGN_OR_RETURN(const std::wstring root, WholeText(volume));
    wchar_t name[MAX_PATH + 1];
    DWORD flags = 0;
    if (!GetVolumeInformationW(root.c_str(), nullptr, 0, nullptr, nullptr, &flags, name,
                               MAX_PATH + 1)) {
      return win32::LastError("GetVolumeInformation");
    }
    return FileSystem{win32::Utf8(name), (flags & FILE_READ_ONLY_VOLUME) != 0};
  }

  absl::StatusOr<VolumeSpace> GetSpace(const std::string& volume) override {
    ABSL_ASSIGN_OR_RETURN(const std::wstring root, WholeText(volume));
    ULARGE_INTEGER available{};
    ULARGE_INTEGER total{};
    ULARGE_INTEGER free{};
    if (!GetDiskFreeSpaceExW(root.c_str(), &available, &total, &free)) {
      return win32::LastError("GetDiskFreeSpaceEx");
    }
    return VolumeSpace{.total_bytes = total.QuadPart,
                       .free_bytes = free.QuadPart,
                       .available_bytes = available.QuadPart};
  }

  absl::StatusOr<std::vector<std::string>> ListMountPoints(const std::string& volume) override {
    ABSL_ASSIGN_OR_RETURN(const std::wstring name, WholeText(volume));
    std::wstring list(MAX_PATH, L'\0');
    DWORD used = 0;
    while (!GetVolumePathNamesForVolumeNameW(name.c_str(), list.data(),
                                             static_cast<DWORD>(list.size()), &used)) {
      if (GetLastError() != ERROR_MORE_DATA || used <= list.size()) {
        return win32::LastError("GetVolumePathNamesForVolumeName");
      }
      list.assign(used, L'\0');
    }
    std::vector<std::string> paths;
    for (const wchar_t* path = list.c_str(); *path != L'\0'; path += wcslen(path) + 1) {
      paths.push_back(win32::Utf8(path));
    }
    return paths;
  }

  absl::StatusOr<Bytes> Read(const std::string& device, uint64_t offset, size_t size) override {
    ABSL_ASSIGN_OR_RETURN(const auto handle, OpenDevice(device, GENERIC_READ));
    // Reading a device needs memory that is aligned like its sectors
    // (learn.microsoft.com/windows/win32/fileio/file-buffering). Pages are aligned to any sector.
    const std::unique_ptr<void, decltype([](void* pages) { VirtualFree(pages, 0, MEM_RELEASE); })>
        pages(VirtualAlloc(nullptr, size, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE));
    if (pages == nullptr) return win32::LastError("VirtualAlloc");
    OVERLAPPED at{};
    at.Offset = static_cast<DWORD>(offset);
    at.OffsetHigh = static_cast<DWORD>(offset >> 32);
    DWORD read = 0;
    if (!ReadFile(handle.get(), pages.get(), static_cast<DWORD>(size), &read, &at)) {
      if (GetLastError() != ERROR_HANDLE_EOF) return win32::LastError("ReadFile");
    }
    const auto* const bytes = static_cast<const uint8_t*>(pages.get());
    return Bytes(bytes, bytes + read);
  }

  absl::Status Flush(const std::string& volume) override {
    // Flushing needs the volume's device, opened for writing. The device's name has no trailing
    // backslash (learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-flushfilebuffers).
    ABSL_ASSIGN_OR_RETURN(const auto device,
                          OpenDevice(std::string(absl::StripSuffix(volume, "\\")), GENERIC_WRITE));
    if (!FlushFileBuffers(device.get())) return win32::LastError("FlushFileBuffers");
    return absl::OkStatus();
  }

  absl::Status SetMountPoint(const std::string& directory, const std::string& volume) override {
    ABSL_ASSIGN_OR_RETURN(const std::wstring path, WholeText(directory));
    ABSL_ASSIGN_OR_RETURN(const std::wstring name, WholeText(volume));
    if (!SetVolumeMountPointW(path.c_str(), name.c_str())) {
      return win32::LastError("SetVolumeMountPoint");
    }
    return absl::OkStatus();
  }

  absl::Status DeleteMountPoint(const std::string& directory) override {
    ABSL_ASSIGN_OR_RETURN(const std::wstring path, WholeText(directory));
    if (!DeleteVolumeMountPointW(path.c_str())) return win32::LastError("DeleteVolumeMountPoint");
    return absl::OkStatus();
  }

  absl::StatusOr<Bytes> Control(const std::string& device, DeviceAccess access, uint32_t code,
                                const Bytes& input, size_t max_output) override {
    ABSL_ASSIGN_OR_RETURN(const auto handle, OpenDevice(device, AccessMask(access)));
    return SendControl(handle.get(), code, input, max_output);
  }

  uint64_t DeviceChanges() override { return devices_.Count(); }
  void AwaitDeviceChange(uint64_t seen, absl::Duration limit) override {
    devices_.Await(seen, limit);
  }

  absl::StatusOr<ServiceInfo> GetService(const std::string& name) override {
    ABSL_ASSIGN_OR_RETURN(const auto service,
                          OpenServiceFor(name, SERVICE_QUERY_CONFIG | SERVICE_QUERY_STATUS));
    SERVICE_STATUS_PROCESS status{};
    DWORD needed = 0;
    if (!QueryServiceStatusEx(service.get(), SC_STATUS_PROCESS_INFO,
                              reinterpret_cast<BYTE*>(&status), sizeof(status), &needed)) {
      return win32::LastError("QueryServiceStatusEx");
    }
    // The answer has at most 8 KiB
    // (learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-queryserviceconfigw).
    alignas(QUERY_SERVICE_CONFIGW) std::byte buffer[8 * 1024];
    auto* const config = reinterpret_cast<QUERY_SERVICE_CONFIGW*>(buffer);
    if (!QueryServiceConfigW(service.get(), config, sizeof(buffer), &needed)) {
      return win32::LastError("QueryServiceConfig");
    }
    return ServiceInfo{.display_name = win32::Utf8(config->lpDisplayName),
                       .start_type = static_cast<ServiceStartType>(config->dwStartType),
                       .state = static_cast<ServiceState>(status.dwCurrentState)};
  }
  absl::StatusOr<std::vector<std::string>> ListActiveDependents(const std::string& name) override {
    ABSL_ASSIGN_OR_RETURN(const auto service, OpenServiceFor(name, SERVICE_ENUMERATE_DEPENDENTS));
    std::vector<std::byte> buffer;
    DWORD needed = 0;
    DWORD count = 0;
    // Repeats the call, because more services may start between two calls. Windows lists the
    // services in the order for stopping them
    // (learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-enumdependentservicesw).
    while (!EnumDependentServicesW(service.get(), SERVICE_ACTIVE,
                                   reinterpret_cast<ENUM_SERVICE_STATUSW*>(buffer.data()),
                                   static_cast<DWORD>(buffer.size()), &needed, &count)) {
      if (GetLastError() != ERROR_MORE_DATA) return win32::LastError("EnumDependentServices");
      buffer.resize(buffer.size() + needed);
    }
    std::vector<std::string> names;
    const auto* const entries = reinterpret_cast<const ENUM_SERVICE_STATUSW*>(buffer.data());
    for (DWORD i = 0; i < count; ++i) names.push_back(win32::Utf8(entries[i].lpServiceName));
    return names;
  }
  absl::Status StartService(const std::string& name) override {
    ABSL_ASSIGN_OR_RETURN(const auto service, OpenServiceFor(name, SERVICE_START));
    if (!::StartServiceW(service.get(), 0, nullptr)) return win32::LastError("StartService");
    return absl::OkStatus();
  }
  absl::Status StopService(const std::string& name) override {
    ABSL_ASSIGN_OR_RETURN(const auto service, OpenServiceFor(name, SERVICE_STOP));
    SERVICE_STATUS status{};
    if (!ControlService(service.get(), SERVICE_CONTROL_STOP, &status)) {
      return win32::LastError("ControlService");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<NetworkNames> GetNetworkNames() override { return ReadNetworkNames(); }

  absl::StatusOr<Bytes> GetSmbiosTable() override {
    Bytes table;
    for (;;) {
      const UINT size =
          GetSystemFirmwareTable(kRawSmbios, 0, table.data(), static_cast<DWORD>(table.size()));
      if (size == 0) return win32::LastError("GetSystemFirmwareTable");
      const bool whole = size <= table.size();
      table.resize(size);
      if (whole) return table;
    }
  }

 private:
  machine::DeviceChanges devices_;
};

}  // namespace

std::unique_ptr<Os> NewOs() {
  // These privileges are needed to reach every pod's files in spite of access lists, to write links
  // and to manage volumes
  // (learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_set_reparse_point). SYSTEM
  // and administrators hold the privileges, but not always enabled.
  for (const wchar_t* privilege :
       {SE_BACKUP_NAME, SE_RESTORE_NAME, SE_CREATE_SYMBOLIC_LINK_NAME, SE_MANAGE_VOLUME_NAME}) {
    win32::EnablePrivilege(privilege);
  }
  // A drive without medium must cause an error, not a dialog
  // (learn.microsoft.com/windows/win32/debug/error-mode).
  SetErrorMode(GetErrorMode() | SEM_FAILCRITICALERRORS);
  return std::make_unique<WindowsOs>();
}

}  // namespace csi_proxy::machine

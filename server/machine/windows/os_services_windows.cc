#include "server/machine/windows/os_services_windows.h"

#include <cstddef>

#include "server/base/status_macros.h"
#include "server/base/win32.h"

namespace csi_proxy::machine::services {
namespace {

absl::StatusOr<win32::UniqueServiceHandle> Open(const std::string& name, DWORD access) {
  // Windows would ignore the text after a NUL.
  if (name.find('\0') != std::string::npos) {
    return win32::ToStatus(ERROR_INVALID_NAME, "OpenService");
  }
  const win32::UniqueServiceHandle manager(
      OpenSCManagerW(nullptr, SERVICES_ACTIVE_DATABASEW, SC_MANAGER_CONNECT));
  if (!manager.valid()) return win32::LastError("OpenSCManager");
  win32::UniqueServiceHandle service(
      OpenServiceW(manager.get(), win32::Utf16(name).c_str(), access));
  if (!service.valid()) return win32::LastError("OpenService");
  return service;
}

}  // namespace

absl::StatusOr<ServiceInfo> Get(const std::string& name) {
  ABSL_ASSIGN_OR_RETURN(const auto service,
                        Open(name, SERVICE_QUERY_CONFIG | SERVICE_QUERY_STATUS));
  SERVICE_STATUS_PROCESS status{};
  DWORD needed = 0;
  if (!QueryServiceStatusEx(service.get(), SC_STATUS_PROCESS_INFO, reinterpret_cast<BYTE*>(&status),
                            sizeof(status), &needed)) {
    return win32::LastError("QueryServiceStatusEx");
  }
  // The limit is 8 KiB
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

absl::StatusOr<std::vector<std::string>> ListActiveDependents(const std::string& name) {
  ABSL_ASSIGN_OR_RETURN(const auto service, Open(name, SERVICE_ENUMERATE_DEPENDENTS));
  std::vector<std::byte> buffer;
  DWORD needed = 0;
  DWORD count = 0;
  // Repeated, because more may start between the calls. The order is that in which to stop them
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

absl::Status Start(const std::string& name) {
  ABSL_ASSIGN_OR_RETURN(const auto service, Open(name, SERVICE_START));
  if (!StartServiceW(service.get(), 0, nullptr)) return win32::LastError("StartService");
  return absl::OkStatus();
}

absl::Status Stop(const std::string& name) {
  ABSL_ASSIGN_OR_RETURN(const auto service, Open(name, SERVICE_STOP));
  SERVICE_STATUS status{};
  if (!ControlService(service.get(), SERVICE_CONTROL_STOP, &status)) {
    return win32::LastError("ControlService");
  }
  return absl::OkStatus();
}

}  // namespace csi_proxy::machine::services

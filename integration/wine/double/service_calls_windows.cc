// The service control manager.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "integration/wine/double/hooks_windows.h"
#include "integration/wine/double/open_file_windows.h"
#include "integration/wine/double/simulated_node.h"
#include "integration/wine/double/win32_answers_windows.h"
#include "server/simulator/services.h"

namespace csi_proxy::node_double {
namespace {

struct Manager final : Opened {};

struct Service final : Opened {
  std::string name;
  DWORD rights = 0;
  // The node's last answer, which has both state and configuration.
  std::optional<machine::ServiceInfo> info;
};

// Returns the service behind a handle that has these rights; otherwise sets the last error and
// returns null.
std::shared_ptr<Service> WithRights(SC_HANDLE handle, DWORD rights) {
  auto service = FindFakeOf<Service>(handle);
  if (service == nullptr) {
    Refuse(ERROR_INVALID_HANDLE);
  } else if ((service->rights & rights) != rights) {
    Refuse(ERROR_ACCESS_DENIED);
    service = nullptr;
  }
  return service;
}

BOOL Refresh(Service& service) {
  const absl::StatusOr<machine::ServiceInfo> info = TheNode().os->GetService(service.name);
  if (!Answer(info)) return FALSE;
  service.info = *info;
  return TRUE;
}

// Appends strings to the caller's buffer, after the structures that point to them.
class Strings {
 public:
  explicit Strings(wchar_t* at) : at_(at) {}
  LPWSTR Add(const std::wstring& text) {
    wchar_t* const begin = at_;
    std::memcpy(begin, text.c_str(), (text.size() + 1) * sizeof(wchar_t));
    at_ += text.size() + 1;
    return begin;
  }

 private:
  wchar_t* at_;
};

size_t BytesOf(const std::wstring& text) { return (text.size() + 1) * sizeof(wchar_t); }

}  // namespace

namespace hooks {

SC_HANDLE WINAPI OpenSCManagerW(LPCWSTR machine, LPCWSTR, DWORD) {
  if (machine != nullptr) {
    Refuse(ERROR_NOT_SUPPORTED);
    return nullptr;
  }
  return static_cast<SC_HANDLE>(NewFake(std::make_shared<Manager>()));
}

SC_HANDLE WINAPI OpenServiceW(SC_HANDLE manager, LPCWSTR name, DWORD access) {
  if (FindFakeOf<Manager>(manager) == nullptr) {
    Refuse(ERROR_INVALID_HANDLE);
    return nullptr;
  }
  auto service = std::make_shared<Service>();
  service->name = TextOf(name);
  service->rights = access;
  // Uses the state directly, so that injected faults hit only the calls on the opened service.
  const bool exists = TheNode().node->core()->Change([&](machine::simulator::NodeState& state) {
    return machine::simulator::FindService(state, service->name) != nullptr;
  });
  if (!exists) {
    Refuse(ERROR_SERVICE_DOES_NOT_EXIST);
    return nullptr;
  }
  return static_cast<SC_HANDLE>(NewFake(std::move(service)));
}

BOOL WINAPI CloseServiceHandle(SC_HANDLE handle) {
  const bool closable =
      FindFakeOf<Manager>(handle) != nullptr || FindFakeOf<Service>(handle) != nullptr;
  return closable && CloseFake(handle) ? TRUE : Refuse(ERROR_INVALID_HANDLE);
}

BOOL WINAPI QueryServiceStatusEx(SC_HANDLE handle, SC_STATUS_TYPE level, LPBYTE status, DWORD size,
                                 LPDWORD needed) {
  const auto service = WithRights(handle, SERVICE_QUERY_STATUS);
  if (service == nullptr) return FALSE;
  if (level != SC_STATUS_PROCESS_INFO) return Refuse(ERROR_INVALID_LEVEL);
  SERVICE_STATUS_PROCESS answer{};
  *needed = sizeof(answer);
  if (size < sizeof(answer)) return Refuse(ERROR_INSUFFICIENT_BUFFER);
  if (!Refresh(*service)) return FALSE;
  answer.dwServiceType = SERVICE_WIN32_OWN_PROCESS;
  answer.dwCurrentState = static_cast<DWORD>(service->info->state);
  std::memcpy(status, &answer, sizeof(answer));
  return TRUE;
}

BOOL WINAPI QueryServiceConfigW(SC_HANDLE handle, LPQUERY_SERVICE_CONFIGW config, DWORD size,
                                LPDWORD needed) {
  const auto service = WithRights(handle, SERVICE_QUERY_CONFIG);
  if (service == nullptr) return FALSE;
  if (!service->info.has_value() && !Refresh(*service)) return FALSE;
  const std::wstring display_name = win32::Utf16(service->info->display_name);
  *needed = static_cast<DWORD>(sizeof(*config) + BytesOf(display_name) + BytesOf(L""));
  if (size < *needed) return Refuse(ERROR_INSUFFICIENT_BUFFER);
  *config = {};
  Strings strings(reinterpret_cast<wchar_t*>(config + 1));
  config->dwServiceType = SERVICE_WIN32_OWN_PROCESS;
  config->dwStartType = static_cast<DWORD>(service->info->start_type);
  config->lpDisplayName = strings.Add(display_name);
  config->lpBinaryPathName = config->lpLoadOrderGroup = config->lpDependencies =
      config->lpServiceStartName = strings.Add(L"");
  return TRUE;
}

BOOL WINAPI EnumDependentServicesW(SC_HANDLE handle, DWORD state, LPENUM_SERVICE_STATUSW services,
                                   DWORD size, LPDWORD needed, LPDWORD count) {
  const auto service = WithRights(handle, SERVICE_ENUMERATE_DEPENDENTS);
  if (service == nullptr) return FALSE;
  if (state != SERVICE_ACTIVE) return Refuse(ERROR_NOT_SUPPORTED);
  const absl::StatusOr<std::vector<std::string>> found =
      TheNode().os->ListActiveDependents(service->name);
  if (!Answer(found)) return FALSE;
  std::vector<std::wstring> names;
  size_t bytes = 0;
  for (const std::string& name : *found) {
    names.push_back(win32::Utf16(name));
    bytes += sizeof(*services) + BytesOf(names.back());
  }
  *count = 0;
  *needed = static_cast<DWORD>(bytes);
  if (bytes > size) return Refuse(ERROR_MORE_DATA);
  *needed = 0;
  Strings strings(reinterpret_cast<wchar_t*>(services + names.size()));
  for (const std::wstring& name : names) {
    ENUM_SERVICE_STATUSW& entry = services[(*count)++];
    entry = {};
    entry.lpServiceName = entry.lpDisplayName = strings.Add(name);
    entry.ServiceStatus.dwServiceType = SERVICE_WIN32_OWN_PROCESS;
    entry.ServiceStatus.dwCurrentState = SERVICE_RUNNING;
  }
  return TRUE;
}

BOOL WINAPI StartServiceW(SC_HANDLE handle, DWORD count, LPCWSTR*) {
  const auto service = WithRights(handle, SERVICE_START);
  if (service == nullptr) return FALSE;
  if (count != 0) return Refuse(ERROR_NOT_SUPPORTED);
  return Answer(TheNode().os->StartService(service->name));
}

BOOL WINAPI ControlService(SC_HANDLE handle, DWORD control, LPSERVICE_STATUS status) {
  const auto service = WithRights(handle, SERVICE_STOP);
  if (service == nullptr) return FALSE;
  if (control != SERVICE_CONTROL_STOP) return Refuse(ERROR_INVALID_SERVICE_CONTROL);
  if (!Answer(TheNode().os->StopService(service->name))) return FALSE;
  *status = {};
  status->dwServiceType = SERVICE_WIN32_OWN_PROCESS;
  status->dwCurrentState = SERVICE_STOP_PENDING;
  return TRUE;
}

}  // namespace hooks
}  // namespace csi_proxy::node_double

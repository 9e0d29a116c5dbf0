#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/platform/win32.h"
#include "service_installer/scm.h"

namespace csi_proxy::service_installer {
namespace {

using win32::UniqueServiceHandle;
using win32::Utf16;
using win32::Utf8;

DWORD StartTypeOf(StartType type) {
  return type == StartType::kManual     ? SERVICE_DEMAND_START
         : type == StartType::kDisabled ? SERVICE_DISABLED
                                        : SERVICE_AUTO_START;
}

// Returns a MULTI_SZ: words that each end in a zero, and a final zero.
std::wstring MultiString(const std::vector<std::string>& words) {
  std::wstring all;
  for (const std::string& word : words) all += Utf16(word) + L'\0';
  return all + L'\0';
}

// Calls a query function twice: for the size, then for the data.
template <typename Query>
bool QueryInto(std::vector<BYTE>* buffer, Query query) {
  DWORD needed = 0;
  query(nullptr, 0, &needed);
  if (GetLastError() != ERROR_INSUFFICIENT_BUFFER) return false;
  buffer->resize(needed);
  return query(buffer->data(), needed, &needed);
}

bool QueryConfig2(SC_HANDLE service, DWORD level, std::vector<BYTE>* buffer) {
  return QueryInto(buffer, [&](BYTE* data, DWORD size, DWORD* needed) {
    return QueryServiceConfig2W(service, level, data, size, needed);
  });
}

class Manager final : public ServiceManager {
 public:
  Manager(UniqueServiceHandle manager, Refused* refused)
      : manager_(std::move(manager)), refused_(refused) {}

  absl::StatusOr<ServiceStatus> Status(const std::string& name) override {
    ABSL_ASSIGN_OR_RETURN(const auto service, Open(name, SERVICE_QUERY_STATUS));
    SERVICE_STATUS_PROCESS status{};
    DWORD needed = 0;
    if (!QueryServiceStatusEx(service.get(), SC_STATUS_PROCESS_INFO,
                              reinterpret_cast<BYTE*>(&status), sizeof(status), &needed)) {
      return win32::LastError(absl::StrCat(name, ": QueryServiceStatusEx"));
    }
    return ServiceStatus{.state = static_cast<ServiceState>(std::min(
                             status.dwCurrentState - 1, static_cast<DWORD>(ServiceState::kOther))),
                         .process_id = status.dwProcessId,
                         .checkpoint = status.dwCheckPoint,
                         .exit_code = status.dwWin32ExitCode,
                         .service_exit_code = status.dwServiceSpecificExitCode};
  }

  absl::StatusOr<ServiceConfig> Config(const std::string& name,
                                       const ServiceConfig& otherwise) override {
    ABSL_ASSIGN_OR_RETURN(const auto service, Open(name, SERVICE_QUERY_CONFIG));
    std::vector<BYTE> buffer;
    if (!QueryInto(&buffer, [&](BYTE* data, DWORD size, DWORD* needed) {
          return QueryServiceConfigW(service.get(), reinterpret_cast<QUERY_SERVICE_CONFIGW*>(data),
                                     size, needed);
        })) {
      return win32::LastError(absl::StrCat(name, ": QueryServiceConfig"));
    }
    const auto* const basic = reinterpret_cast<const QUERY_SERVICE_CONFIGW*>(buffer.data());
    ServiceConfig config = otherwise;
    config.display_name = Utf8(basic->lpDisplayName);
    config.account = basic->lpServiceStartName != nullptr ? Utf8(basic->lpServiceStartName) : "";
    config.start_type = basic->dwStartType == SERVICE_DEMAND_START ? StartType::kManual
                        : basic->dwStartType == SERVICE_DISABLED   ? StartType::kDisabled
                                                                   : StartType::kAutomatic;
    ABSL_ASSIGN_OR_RETURN(auto words, SplitCommandLine(Utf8(basic->lpBinaryPathName)));
    config.command = std::move(words);
    ReadExtras(service.get(), &config);
    return config;
  }

  absl::Status Create(const std::string& name, const ServiceConfig& config) override {
    const std::wstring account = Utf16(config.account);
    const UniqueServiceHandle service(CreateServiceW(
        manager_.get(), Utf16(name).c_str(), Utf16(config.display_name).c_str(), SERVICE_ALL_ACCESS,
        SERVICE_WIN32_OWN_PROCESS, StartTypeOf(config.start_type), SERVICE_ERROR_NORMAL,
        Utf16(CommandLine(config.command)).c_str(), nullptr, nullptr, nullptr,
        config.account == "LocalSystem" ? nullptr : account.c_str(), nullptr));
    if (!service.valid()) {
      if (GetLastError() == ERROR_SERVICE_MARKED_FOR_DELETE) {
        return absl::UnavailableError(
            absl::StrCat(name,
                         ": the old service is still being deleted; close all programs that show "
                         "it, such as services.msc"));
      }
      return win32::LastError(absl::StrCat(name, ": CreateService"));
    }
    WriteExtras(service.get(), config);
    return absl::OkStatus();
  }

  absl::Status Change(const std::string& name, const ServiceConfig& config) override {
    ABSL_ASSIGN_OR_RETURN(const auto service, Open(name, SERVICE_ALL_ACCESS));
    const std::wstring account = Utf16(config.account);
    if (!ChangeServiceConfigW(service.get(), SERVICE_WIN32_OWN_PROCESS,
                              StartTypeOf(config.start_type), SERVICE_ERROR_NORMAL,
                              Utf16(CommandLine(config.command)).c_str(), nullptr, nullptr, nullptr,
                              account.c_str(), nullptr, Utf16(config.display_name).c_str())) {
      return win32::LastError(absl::StrCat(name, ": ChangeServiceConfig"));
    }
    WriteExtras(service.get(), config);
    return absl::OkStatus();
  }

  absl::Status Delete(const std::string& name) override {
    ABSL_ASSIGN_OR_RETURN(const auto service, Open(name, DELETE));
    if (DeleteService(service.get()) || GetLastError() == ERROR_SERVICE_MARKED_FOR_DELETE) {
      return absl::OkStatus();
    }
    return win32::LastError(absl::StrCat(name, ": DeleteService"));
  }

  absl::Status Start(const std::string& name) override {
    ABSL_ASSIGN_OR_RETURN(const auto service, Open(name, SERVICE_START));
    if (StartServiceW(service.get(), 0, nullptr) ||
        GetLastError() == ERROR_SERVICE_ALREADY_RUNNING) {
      return absl::OkStatus();
    }
    return win32::LastError(absl::StrCat(name, ": StartService"));
  }

  absl::Status Stop(const std::string& name) override {
    ABSL_ASSIGN_OR_RETURN(const auto service, Open(name, SERVICE_STOP));
    SERVICE_STATUS status;
    if (ControlService(service.get(), SERVICE_CONTROL_STOP, &status) ||
        GetLastError() == ERROR_SERVICE_NOT_ACTIVE) {
      return absl::OkStatus();
    }
    const DWORD error = GetLastError();
    const absl::Status refused = win32::ToStatus(error, absl::StrCat(name, ": ControlService"));
    // Windows returns this error in states that do not accept the control, and
    // ERROR_SERVICE_CANNOT_ACCEPT_CTRL while a change is pending
    // (https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-controlservice). The caller
    // may try again after either.
    return error == ERROR_INVALID_SERVICE_CONTROL ? absl::UnavailableError(refused.message())
                                                  : refused;
  }

  absl::Status Terminate(const std::string& name, uint32_t process_id,
                         const std::string& program) override {
    const win32::UniqueHandle process(
        OpenProcess(PROCESS_TERMINATE | PROCESS_QUERY_LIMITED_INFORMATION, FALSE, process_id));
    // This error says that there is no such process.
    if (!process.valid() && GetLastError() == ERROR_INVALID_PARAMETER) return absl::OkStatus();
    if (!process.valid()) return win32::LastError(absl::StrCat("process ", process_id));
    // The open handle keeps the process id from being reused. So if the service still reports that
    // id, the handle is its process.
    ABSL_ASSIGN_OR_RETURN(const auto status, Status(name));
    if (status.state == ServiceState::kStopped || status.process_id != process_id) {
      return absl::OkStatus();
    }
    wchar_t image[32768];
    DWORD length = std::size(image);
    if (!QueryFullProcessImageNameW(process.get(), 0, image, &length)) {
      return win32::LastError(absl::StrCat("process ", process_id));
    }
    std::error_code error;
    if (!std::filesystem::equivalent(std::wstring(image, length), Utf16(program), error)) {
      return absl::FailedPreconditionError(
          absl::StrCat("process ", process_id, " runs ", Utf8({image, length}), ", not ", program));
    }
    if (TerminateProcess(process.get(), ERROR_PROCESS_ABORTED)) return absl::OkStatus();
    return win32::LastError(absl::StrCat("process ", process_id, ": TerminateProcess"));
  }

  absl::Status SuspendRestart(const std::string& name) override {
    ABSL_ASSIGN_OR_RETURN(const auto service, Open(name, SERVICE_ALL_ACCESS));
    std::vector<BYTE> actions;
    if (!QueryConfig2(service.get(), SERVICE_CONFIG_FAILURE_ACTIONS, &actions)) {
      return win32::LastError(absl::StrCat(name, ": QueryServiceConfig2"));
    }
    // An array without entries deletes the actions
    // (https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_failure_actionsw).
    SC_ACTION unused{};
    SERVICE_FAILURE_ACTIONSW none{};
    none.lpsaActions = &unused;
    if (!ChangeServiceConfig2W(service.get(), SERVICE_CONFIG_FAILURE_ACTIONS, &none)) {
      return win32::LastError(absl::StrCat(name, ": ChangeServiceConfig2"));
    }
    suspended_[name] = std::move(actions);
    return absl::OkStatus();
  }

  absl::Status ResumeRestart(const std::string& name) override {
    // A caller that may only start the service can ask for its failure actions.
    const DWORD access = suspended_.contains(name) ? SERVICE_ALL_ACCESS : SERVICE_QUERY_CONFIG;
    ABSL_ASSIGN_OR_RETURN(auto service, Open(name, access));
    if (!suspended_.contains(name)) {
      std::vector<BYTE> present;
      if (QueryConfig2(service.get(), SERVICE_CONFIG_FAILURE_ACTIONS, &present) &&
          reinterpret_cast<const SERVICE_FAILURE_ACTIONSW*>(present.data())->cActions == 0) {
        ABSL_ASSIGN_OR_RETURN(service, Open(name, SERVICE_ALL_ACCESS));
        SetRestart(service.get(), ServiceConfig());
      }
      return absl::OkStatus();
    }
    if (!ChangeServiceConfig2W(service.get(), SERVICE_CONFIG_FAILURE_ACTIONS,
                               suspended_[name].data())) {
      return win32::LastError(absl::StrCat(name, ": ChangeServiceConfig2"));
    }
    suspended_.erase(name);
    return absl::OkStatus();
  }

  absl::StatusOr<bool> HasEventSource(const std::string& source) override {
    wchar_t file[1024];
    DWORD size = sizeof(file);
    const LSTATUS error =
        RegGetValueW(HKEY_LOCAL_MACHINE, EventSourceKey(source).c_str(), L"EventMessageFile",
                     RRF_RT_REG_EXPAND_SZ | RRF_RT_REG_SZ | RRF_NOEXPAND, nullptr, file, &size);
    if (error == ERROR_FILE_NOT_FOUND) return false;
    if (error != ERROR_SUCCESS) return EventSourceError(error, source);
    return std::wstring_view(file) == kEventMessageFile;
  }

  absl::Status RegisterEventSource(const std::string& source) override {
    const std::wstring key = EventSourceKey(source);
    const DWORD types = EVENTLOG_ERROR_TYPE | EVENTLOG_WARNING_TYPE | EVENTLOG_INFORMATION_TYPE;
    LSTATUS error = RegSetKeyValueW(HKEY_LOCAL_MACHINE, key.c_str(), L"EventMessageFile",
                                    REG_EXPAND_SZ, kEventMessageFile, sizeof(kEventMessageFile));
    if (error == ERROR_SUCCESS) {
      error = RegSetKeyValueW(HKEY_LOCAL_MACHINE, key.c_str(), L"TypesSupported", REG_DWORD, &types,
                              sizeof(types));
    }
    return EventSourceError(error, source);
  }

  absl::Status RemoveEventSource(const std::string& source) override {
    const LSTATUS error = RegDeleteTreeW(HKEY_LOCAL_MACHINE, EventSourceKey(source).c_str());
    return error == ERROR_FILE_NOT_FOUND ? absl::OkStatus() : EventSourceError(error, source);
  }

  absl::StatusOr<std::string> MachinePath() override {
    DWORD size = 0;
    LSTATUS error = RegGetValueW(HKEY_LOCAL_MACHINE, kEnvironmentKey, L"Path", kPathTypes, nullptr,
                                 nullptr, &size);
    if (error == ERROR_FILE_NOT_FOUND) return "";
    std::wstring path(size / sizeof(wchar_t) + 1, L'\0');
    size = static_cast<DWORD>(path.size() * sizeof(wchar_t));
    if (error == ERROR_SUCCESS) {
      error = RegGetValueW(HKEY_LOCAL_MACHINE, kEnvironmentKey, L"Path", kPathTypes, nullptr,
                           path.data(), &size);
    }
    if (error != ERROR_SUCCESS) {
      return win32::ToStatus(static_cast<DWORD>(error), "the machine's PATH");
    }
    return Utf8(path.c_str());
  }

  absl::Status SetMachinePath(const std::string& path) override {
    const std::wstring value = Utf16(path);
    const LSTATUS error =
        RegSetKeyValueW(HKEY_LOCAL_MACHINE, kEnvironmentKey, L"Path", REG_EXPAND_SZ, value.c_str(),
                        static_cast<DWORD>((value.size() + 1) * sizeof(wchar_t)));
    if (error != ERROR_SUCCESS) {
      return win32::ToStatus(static_cast<DWORD>(error), "the machine's PATH");
    }
    // Windows' shell reads the variables again for the windows that it opens
    // (https://learn.microsoft.com/windows/win32/procthread/environment-variables). A window that
    // hangs must not hold up the installer.
    SendMessageTimeoutW(HWND_BROADCAST, WM_SETTINGCHANGE, 0,
                        reinterpret_cast<LPARAM>(L"Environment"), SMTO_ABORTIFHUNG, 1000, nullptr);
    return absl::OkStatus();
  }

 private:
  static constexpr wchar_t kEnvironmentKey[] =
      LR"(SYSTEM\CurrentControlSet\Control\Session Manager\Environment)";
  static constexpr DWORD kPathTypes = RRF_RT_REG_EXPAND_SZ | RRF_RT_REG_SZ | RRF_NOEXPAND;

  // Messages 1 to 1000 of this file are the inserted text only
  // (https://learn.microsoft.com/windows-server/administration/windows-commands/eventcreate). The
  // service writes message 1000.
  static constexpr wchar_t kEventMessageFile[] = LR"(%SystemRoot%\System32\EventCreate.exe)";

  static std::wstring EventSourceKey(const std::string& source) {
    return LR"(SYSTEM\CurrentControlSet\Services\EventLog\Application\)" + Utf16(source);
  }
  static absl::Status EventSourceError(LSTATUS error, const std::string& source) {
    if (error == ERROR_SUCCESS) return absl::OkStatus();
    return win32::ToStatus(static_cast<DWORD>(error), absl::StrCat("event source ", source));
  }

  absl::StatusOr<UniqueServiceHandle> Open(const std::string& name, DWORD access) {
    UniqueServiceHandle service(OpenServiceW(manager_.get(), Utf16(name).c_str(), access));
    if (!service.valid()) return win32::LastError(absl::StrCat("service ", name));
    return service;
  }

  void Set(SC_HANDLE service, const char* what, DWORD level, void* info) {
    if (!ChangeServiceConfig2W(service, level, info)) {
      refused_->push_back(absl::StrCat(what, ": ", win32::ErrorText(GetLastError())));
    }
  }

  void SetRestart(SC_HANDLE service, const ServiceConfig& config) {
    SC_ACTION restart{.Type = SC_ACTION_RESTART,
                      .Delay = static_cast<DWORD>(absl::ToInt64Milliseconds(config.restart_delay))};
    SERVICE_FAILURE_ACTIONSW actions{};
    actions.dwResetPeriod = static_cast<DWORD>(absl::ToInt64Seconds(config.failure_reset));
    actions.cActions = 1;
    actions.lpsaActions = &restart;
    Set(service, "failure actions", SERVICE_CONFIG_FAILURE_ACTIONS, &actions);
  }

  void WriteExtras(SC_HANDLE service, const ServiceConfig& config) {
    std::wstring description = Utf16(config.description);
    SERVICE_DESCRIPTIONW text{.lpDescription = description.data()};
    Set(service, "description", SERVICE_CONFIG_DESCRIPTION, &text);

    if (StartTypeOf(config.start_type) == SERVICE_AUTO_START) {
      SERVICE_DELAYED_AUTO_START_INFO delayed{.fDelayedAutostart = config.start_type ==
                                                                   StartType::kAutomaticDelayed};
      Set(service, "delayed start", SERVICE_CONFIG_DELAYED_AUTO_START_INFO, &delayed);
    }

    SetRestart(service, config);
    // Without the flag, the manager does not treat a service that reports STOPPED with an error
    // code as failed
    // (https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_failure_actions_flag).
    SERVICE_FAILURE_ACTIONS_FLAG flag{.fFailureActionsOnNonCrashFailures = TRUE};
    Set(service, "failure actions flag", SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, &flag);

    SERVICE_SID_INFO sid{.dwServiceSidType = SERVICE_SID_TYPE_UNRESTRICTED};
    Set(service, "service SID", SERVICE_CONFIG_SERVICE_SID_INFO, &sid);

    std::wstring privileges = MultiString(config.privileges);
    SERVICE_REQUIRED_PRIVILEGES_INFOW required{.pmszRequiredPrivileges = privileges.data()};
    Set(service, "required privileges", SERVICE_CONFIG_REQUIRED_PRIVILEGES_INFO, &required);
  }

  // Reads further settings. Those that cannot be read keep the values in `config`.
  static void ReadExtras(SC_HANDLE service, ServiceConfig* config) {
    std::vector<BYTE> buffer;
    const auto read = [&](DWORD level) { return QueryConfig2(service, level, &buffer); };
    if (read(SERVICE_CONFIG_DESCRIPTION)) {
      const auto* const text = reinterpret_cast<const SERVICE_DESCRIPTIONW*>(buffer.data());
      config->description = text->lpDescription != nullptr ? Utf8(text->lpDescription) : "";
    }
    if (config->start_type == StartType::kAutomatic &&
        read(SERVICE_CONFIG_DELAYED_AUTO_START_INFO) &&
        reinterpret_cast<const SERVICE_DELAYED_AUTO_START_INFO*>(buffer.data())
            ->fDelayedAutostart) {
      config->start_type = StartType::kAutomaticDelayed;
    }
    if (read(SERVICE_CONFIG_FAILURE_ACTIONS)) {
      const auto* const actions = reinterpret_cast<const SERVICE_FAILURE_ACTIONSW*>(buffer.data());
      config->failure_reset = absl::Seconds(actions->dwResetPeriod);
      config->restart_delay =
          actions->cActions > 0 && actions->lpsaActions[0].Type == SC_ACTION_RESTART
              ? absl::Milliseconds(actions->lpsaActions[0].Delay)
              : absl::ZeroDuration();
    }
    if (read(SERVICE_CONFIG_REQUIRED_PRIVILEGES_INFO)) {
      config->privileges.clear();
      const wchar_t* word =
          reinterpret_cast<const SERVICE_REQUIRED_PRIVILEGES_INFOW*>(buffer.data())
              ->pmszRequiredPrivileges;
      for (; word != nullptr && *word != L'\0'; word += wcslen(word) + 1) {
        config->privileges.push_back(Utf8(word));
      }
    }
  }

  const UniqueServiceHandle manager_;
  Refused* const refused_;
  // The removed failure actions in Windows' binary form, by service name.
  std::map<std::string, std::vector<BYTE>> suspended_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ServiceManager>> OpenServiceManager(Refused* refused) {
  UniqueServiceHandle manager(
      OpenSCManagerW(nullptr, nullptr, SC_MANAGER_CONNECT | SC_MANAGER_CREATE_SERVICE));
  if (!manager.valid()) return win32::LastError("the service control manager");
  return std::make_unique<Manager>(std::move(manager), refused);
}

}  // namespace csi_proxy::service_installer

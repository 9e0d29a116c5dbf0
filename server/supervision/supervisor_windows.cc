// Supervisors for a process that the console stops (Ctrl-C, Ctrl-Break, close and shutdown, which
// nssm and containers send), and for a process that the service control manager stops.
#include <atomic>
#include <thread>
#include <utility>

#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/platform/win32.h"
#include "server/supervision/service_status.h"
#include "server/supervision/supervisor.h"
#include "server/supervision/watchdog.h"

namespace csi_proxy {
namespace {

static_assert(uint32_t{SERVICE_STOPPED} == uint32_t(ServicePhase::kStopped) &&
              uint32_t{SERVICE_START_PENDING} == uint32_t(ServicePhase::kStarting) &&
              uint32_t{SERVICE_STOP_PENDING} == uint32_t(ServicePhase::kStopping) &&
              uint32_t{SERVICE_RUNNING} == uint32_t(ServicePhase::kRunning));
static_assert(SERVICE_CONTROL_STOP == kControlStop &&
              SERVICE_CONTROL_INTERROGATE == kControlInterrogate &&
              SERVICE_CONTROL_SHUTDOWN == kControlShutdown &&
              SERVICE_CONTROL_PRESHUTDOWN == kControlPreshutdown &&
              SERVICE_ACCEPT_STOP == kAcceptStop && SERVICE_ACCEPT_SHUTDOWN == kAcceptShutdown);

// Passes a stop from one of Windows' threads to AwaitStop().
class StopWaiter : public Supervisor {
 public:
  std::string AwaitStop() final {
    const MutexLock lock(stop_mutex_);
    while (by_.empty()) arrived_.Wait(stop_mutex_);
    return by_;
  }
  void RequestStop(std::string by) final {
    const MutexLock lock(stop_mutex_);
    if (by_.empty()) by_ = std::move(by);
    arrived_.NotifyAll();
  }

 private:
  Mutex stop_mutex_;
  Condition arrived_;
  std::string by_ ABSL_GUARDED_BY(stop_mutex_);
};

// Console and Service are never destroyed, because Windows may call their handlers at any time.
class Console final : public StopWaiter {
 public:
  Console()
      : watchdog_(Watchdog::Start([] { TerminateProcess(GetCurrentProcess(), kExitCallStuck); })) {
    instance_ = this;
    SetConsoleCtrlHandler(&Console::OnControl, TRUE);
  }

  void ReportRunning() override {}
  void ReportStopping(absl::Duration limit) override {
    watchdog_.Arm(limit);
    stopping_ = true;
  }
  void ReportStopped() {
    const MutexLock lock(mutex_);
    stopped_ = true;
    all_done_.NotifyAll();
  }

 private:
  // Windows calls this on a thread of its own.
  static BOOL WINAPI OnControl(DWORD type) {
    Console& self = *instance_;
    switch (type) {
      case CTRL_C_EVENT:
      case CTRL_BREAK_EVENT:
        // On a second Ctrl-C or Ctrl-Break the default handler ends the process.
        if (self.stopping_) return FALSE;
        self.RequestStop(type == CTRL_C_EVENT ? "Ctrl-C" : "Ctrl-Break");
        return TRUE;
      case CTRL_CLOSE_EVENT:
      case CTRL_SHUTDOWN_EVENT: {
        // Waits for the stop, because the process ends when this handler returns
        // (https://learn.microsoft.com/windows/console/handlerroutine).
        self.RequestStop("close of the console");
        const MutexLock lock(self.mutex_);
        while (!self.stopped_) self.all_done_.Wait(self.mutex_);
        return TRUE;
      }
      case CTRL_LOGOFF_EVENT:
        // When any user logs off, Windows sends this to services only, including nssm's child. A
        // service's default handler ignores it, but TRUE would end the process (same page).
        return FALSE;
      default:
        return FALSE;
    }
  }

  static inline Console* instance_ = nullptr;
  Watchdog& watchdog_;
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  Condition all_done_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

// The service under the service control manager. A thread reports the progress of a start or stop,
// so that the manager keeps waiting, and ends the process if a stop does not end.
class Service final : public StopWaiter {
 public:
  explicit Service(std::function<int(Supervisor&)> body) : body_(std::move(body)) {
    instance_ = this;
  }

  // Runs the service to its end. Returns FAILED_PRECONDITION immediately if the service control
  // manager has not started the process
  // (https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-startservicectrldispatcherw).
  absl::Status Run() {
    // Windows ignores the name for a process with one service, so any installed name works
    // (https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_table_entryw).
    wchar_t any_name[] = L"";
    const SERVICE_TABLE_ENTRYW table[] = {{any_name, &Service::Main}, {nullptr, nullptr}};
    if (StartServiceCtrlDispatcherW(table)) return absl::OkStatus();
    const DWORD error = GetLastError();
    if (error == ERROR_FAILED_SERVICE_CONTROLLER_CONNECT) {
      return absl::FailedPreconditionError(
          "-windows-service: this process was not started by the service control manager; leave "
          "the flag out to run in a console");
    }
    return win32::ToStatus(error, "StartServiceCtrlDispatcher");
  }

  int exit_code() const { return exit_code_; }

  bool IsServiceManager() const override { return true; }
  void ReportRunning() override {
    const MutexLock lock(mutex_);
    Report(status_.Running());
  }
  void ReportStopping(absl::Duration limit) override {
    const MutexLock lock(mutex_);
    Report(status_.Stopping(SteadyTime::Now(), limit));
  }

 private:
  static void WINAPI Main(DWORD count, wchar_t** arguments) {
    Service& self = *instance_;
    const wchar_t* const name = count > 0 ? arguments[0] : L"csi-proxy";
    self.handle_ = RegisterServiceCtrlHandlerExW(name, &Service::OnControl, nullptr);
    if (self.handle_ == nullptr) {
      self.exit_code_ = kExitFailed;
      return;
    }
    {
      const MutexLock lock(self.mutex_);
      self.Report(self.status_.Starting());
    }
    std::thread progress([&self] { self.ReportProgress(); });
    self.exit_code_ = self.body_(self);
    {
      const MutexLock lock(self.mutex_);
      self.done_ = true;
    }
    self.changed_.NotifyAll();
    progress.join();
    const MutexLock lock(self.mutex_);
    self.Report(self.status_.Stopped(static_cast<uint32_t>(self.exit_code_)));
    // The process may end at any time after this report.
  }

  static DWORD WINAPI OnControl(DWORD control, DWORD, void*, void*) {
    switch (ServiceStatus::OnControl(control)) {
      case ServiceStatus::Answer::kStop:
        instance_->RequestStop(control == kControlStop ? "service stop" : "system shutdown");
        return NO_ERROR;
      case ServiceStatus::Answer::kNothing:
        return NO_ERROR;
      case ServiceStatus::Answer::kNotImplemented:
        break;
    }
    return ERROR_CALL_NOT_IMPLEMENTED;
  }

  void Report(const ServiceReport& report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    SERVICE_STATUS status{};
    status.dwServiceType = SERVICE_WIN32_OWN_PROCESS;
    status.dwCurrentState = static_cast<DWORD>(report.phase);
    status.dwControlsAccepted = report.accepted_controls;
    status.dwCheckPoint = report.checkpoint;
    status.dwWaitHint = report.wait_hint_milliseconds;
    if (report.exit_code != 0) {
      status.dwWin32ExitCode = ERROR_SERVICE_SPECIFIC_ERROR;
      status.dwServiceSpecificExitCode = report.exit_code;
    }
    SetServiceStatus(handle_, &status);
  }

  void ReportProgress() {
    const MutexLock lock(mutex_);
    while (!done_) {
      changed_.WaitFor(mutex_, ServiceStatus::kProgressInterval);
      if (done_) return;
      if (status_.IsStopOverdue(SteadyTime::Now())) {
        Report(status_.StopOverdue());
        TerminateProcess(GetCurrentProcess(), kExitCallStuck);
      }
      if (const auto report = status_.Progress(SteadyTime::Now()); report.has_value())
        Report(*report);
    }
  }

  static inline Service* instance_ = nullptr;
  const std::function<int(Supervisor&)> body_;
  SERVICE_STATUS_HANDLE handle_ = nullptr;
  std::atomic<int> exit_code_ = kExitOk;

  Mutex mutex_;
  Condition changed_;
  ServiceStatus status_ ABSL_GUARDED_BY(mutex_){SteadyTime::Now()};
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

absl::Status RunSupervised(bool must_be_service, const std::function<int(Supervisor&)>& body,
                           int* exit_code) {
  // A service has no standard handles (https://learn.microsoft.com/windows/console/getstdhandle).
  // Any other process does not ask the manager, because Wine delays the answer by ten seconds if
  // another service runs.
  if (must_be_service || GetStdHandle(STD_ERROR_HANDLE) == nullptr) {
    static Service* const service = new Service(body);
    absl::Status status = service->Run();
    *exit_code = service->exit_code();
    if (must_be_service || !absl::IsFailedPrecondition(status)) return status;
  }
  static Console* const console = new Console();
  *exit_code = body(*console);
  console->ReportStopped();
  return absl::OkStatus();
}

}  // namespace csi_proxy

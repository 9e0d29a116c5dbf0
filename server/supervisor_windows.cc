// The console's Ctrl-C, Ctrl-Break and close, which nssm and containers use, and the service
// control manager.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/time/clock.h"
#include "server/base/win32.h"
#include "server/supervisor.h"

namespace csi_proxy {
namespace {

// A stop that arrives on a thread of Windows' own.
class StopSignal {
 public:
  void Send(std::string by) {
    std::lock_guard lock(mutex_);
    if (by_.empty()) by_ = std::move(by);
    arrived_.notify_all();
  }
  std::string Await() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !by_.empty(); });
    return by_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::string by_;
};

class Console final : public Supervisor {
 public:
  Console() {
    instance_ = this;
    SetConsoleCtrlHandler(&Console::OnControl, TRUE);
  }

  void ReportRunning() override {}
  std::string AwaitStop() override { return stop_.Await(); }
  void ReportStopping(absl::Duration) override { stopping_ = true; }
  void ReportStopped() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    all_done_.notify_all();
  }

 private:
  // Windows calls it on a thread of its own.
  static BOOL WINAPI OnControl(DWORD type) {
    Console& self = *instance_;
    switch (type) {
      case CTRL_C_EVENT:
      case CTRL_BREAK_EVENT:
        // The second one does not wait: the default handler ends the process.
        if (self.stopping_) return FALSE;
        self.stop_.Send(type == CTRL_C_EVENT ? "Ctrl-C" : "Ctrl-Break");
        return TRUE;
      case CTRL_CLOSE_EVENT:
      case CTRL_LOGOFF_EVENT:
      case CTRL_SHUTDOWN_EVENT: {
        // When this returns the process ends
        // (https://learn.microsoft.com/windows/console/handlerroutine): wait for the drain.
        self.stop_.Send("close of the console");
        std::unique_lock lock(self.mutex_);
        self.all_done_.wait(lock, [&] { return self.stopped_; });
        return TRUE;
      }
      default:
        return FALSE;
    }
  }

  static inline Console* instance_ = nullptr;
  StopSignal stop_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::condition_variable all_done_;
  bool stopped_ = false;
};

// The service as the service control manager sees it. While a start or a stop is under way a thread
// reports progress, so that the manager goes on waiting.
class Service final : public Supervisor {
 public:
  explicit Service(const std::function<int(Supervisor&)>& body) : body_(body) { instance_ = this; }

  absl::Status Run() {
    // The name is ignored for a process that is one service
    // (https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_table_entryw):
    // whatever name the service was installed under, it is us.
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

  void ReportRunning() override { Report(SERVICE_RUNNING); }
  std::string AwaitStop() override { return stop_.Await(); }
  void ReportStopping(absl::Duration limit) override {
    {
      std::lock_guard lock(mutex_);
      stop_limit_ = limit;
    }
    Report(SERVICE_STOP_PENDING);
  }

 private:
  static constexpr DWORD kWaitHintMilliseconds = 10'000;
  static constexpr auto kProgressInterval = std::chrono::seconds(2);

  static void WINAPI Main(DWORD count, wchar_t** arguments) {
    Service& self = *instance_;
    const wchar_t* const name = count > 0 ? arguments[0] : L"csi-proxy";
    self.handle_ = RegisterServiceCtrlHandlerExW(name, &Service::OnControl, nullptr);
    if (self.handle_ == nullptr) return;
    self.Report(SERVICE_START_PENDING);
    std::thread progress([&self] { self.ReportProgress(); });
    self.exit_code_ = self.body_(self);
    {
      std::lock_guard lock(self.mutex_);
      self.done_ = true;
    }
    self.changed_.notify_all();
    progress.join();
    self.Report(SERVICE_STOPPED);
  }

  static DWORD WINAPI OnControl(DWORD control, DWORD, void*, void*) {
    switch (control) {
      case SERVICE_CONTROL_STOP:
        instance_->stop_.Send("service stop");
        return NO_ERROR;
      case SERVICE_CONTROL_SHUTDOWN:
      case SERVICE_CONTROL_PRESHUTDOWN:
        instance_->stop_.Send("system shutdown");
        return NO_ERROR;
      case SERVICE_CONTROL_INTERROGATE:
        return NO_ERROR;
      default:
        return ERROR_CALL_NOT_IMPLEMENTED;
    }
  }

  void Report(DWORD state) {
    std::lock_guard lock(mutex_);
    if (state != status_.dwCurrentState) status_.dwCheckPoint = 0;
    status_.dwServiceType = SERVICE_WIN32_OWN_PROCESS;
    status_.dwCurrentState = state;
    const bool pending = state == SERVICE_START_PENDING || state == SERVICE_STOP_PENDING;
    status_.dwCheckPoint = pending ? status_.dwCheckPoint + 1 : 0;
    status_.dwWaitHint = pending ? kWaitHintMilliseconds : 0;
    status_.dwControlsAccepted =
        state == SERVICE_RUNNING
            ? SERVICE_ACCEPT_STOP | SERVICE_ACCEPT_SHUTDOWN | SERVICE_ACCEPT_PRESHUTDOWN
            : 0;
    if (state == SERVICE_STOPPED && exit_code_ != kExitOk) {
      status_.dwWin32ExitCode = ERROR_SERVICE_SPECIFIC_ERROR;
      status_.dwServiceSpecificExitCode = static_cast<DWORD>(exit_code_);
    }
    SetServiceStatus(handle_, &status_);
    if (state == SERVICE_STOP_PENDING) progress_until_ = absl::Now() + stop_limit_;
  }

  void ReportProgress() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kProgressInterval, [this] { return done_; })) {
      const bool pending = status_.dwCurrentState == SERVICE_START_PENDING ||
                           status_.dwCurrentState == SERVICE_STOP_PENDING;
      // Progress is not claimed beyond the time that was announced.
      if (!pending || absl::Now() > progress_until_) continue;
      ++status_.dwCheckPoint;
      SetServiceStatus(handle_, &status_);
    }
  }

  static inline Service* instance_ = nullptr;
  const std::function<int(Supervisor&)>& body_;
  StopSignal stop_;
  SERVICE_STATUS_HANDLE handle_ = nullptr;
  std::atomic<int> exit_code_ = kExitOk;

  std::mutex mutex_;
  std::condition_variable changed_;
  SERVICE_STATUS status_{};
  bool done_ = false;
  absl::Duration stop_limit_;
  absl::Time progress_until_ = absl::InfiniteFuture();
};

}  // namespace

absl::Status RunSupervised(bool as_service, const std::function<int(Supervisor&)>& body,
                           int* exit_code) {
  if (as_service) {
    Service service(body);
    if (absl::Status status = service.Run(); !status.ok()) return status;
    *exit_code = service.exit_code();
    return absl::OkStatus();
  }
  // Never destroyed: Windows may call the handler at any time.
  static Console* const console = new Console();
  *exit_code = body(*console);
  console->ReportStopped();
  return absl::OkStatus();
}

}  // namespace csi_proxy

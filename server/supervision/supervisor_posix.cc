#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "server/base/condition.h"
#include "server/supervision/supervisor.h"
#include "server/supervision/watchdog.h"

namespace csi_proxy {
namespace {

// Raises the soft limit of descriptors to the hard limit, because each connection needs a
// descriptor. The usual soft limit of 1024 protects programs that use select(); this program does
// not.
void RaiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Limits the process to two heaps, which return free memory beyond 1 MiB. By default glibc gives
// each thread its own heap, and a heap keeps the memory of a large request.
void ShareHeaps() {
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

class Signals final : public Supervisor {
 public:
  // Must be constructed before threads start, so that only sigwait() receives the signals.
  Signals() {
    sigemptyset(&stop_);
    sigaddset(&stop_, SIGTERM);
    sigaddset(&stop_, SIGINT);
    awaited_ = stop_;
    sigaddset(&awaited_, kRequested);
    pthread_sigmask(SIG_BLOCK, &awaited_, nullptr);
    signal(SIGPIPE, SIG_IGN);
    watchdog_ = &Watchdog::Start([] { _exit(kExitCallStuck); });
  }

  void ReportRunning() override {}

  std::string AwaitStop() override {
    for (;;) {
      int received = 0;
      sigwait(&awaited_, &received);
      if (received != kRequested) return received == SIGINT ? "SIGINT" : "SIGTERM";
      // Without a request the signal is from another source and is ignored.
      const MutexLock lock(mutex_);
      if (!request_.empty()) return request_;
    }
  }

  void RequestStop(std::string reason) override {
    {
      const MutexLock lock(mutex_);
      if (request_.empty()) request_ = std::move(reason);
    }
    kill(getpid(), kRequested);
  }

  void ReportStopping(absl::Duration limit) override {
    watchdog_->Arm(limit);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &stop_, nullptr);
  }

 private:
  // Wakes AwaitStop(). Always blocked, so that a late signal has no effect.
  static constexpr int kRequested = SIGUSR1;

  sigset_t stop_, awaited_;
  Mutex mutex_;
  std::string request_ ABSL_GUARDED_BY(mutex_);
  Watchdog* watchdog_ = nullptr;
};

}  // namespace

absl::Status RunSupervised(bool must_be_service, const std::function<int(Supervisor&)>& body,
                           int* exit_code) {
  if (must_be_service) {
    return absl::FailedPreconditionError(
        "-windows-service: this system has no service control manager; leave the flag out");
  }
  RaiseDescriptorLimit();
  ShareHeaps();
  Signals signals;
  *exit_code = body(signals);
  return absl::OkStatus();
}

}  // namespace csi_proxy

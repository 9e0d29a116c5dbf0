#include "server/host/flushes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/base/start_thread.h"
#include "server/base/status_macros.h"
#include "server/base/win32_error.h"

namespace csi_proxy::host {

Flushes::~Flushes() {
  const MutexLock lock(mutex_);
  for (const auto& [volume, run] : runs_) run->thread.join();
}

absl::Status Flushes::Flush(const CallContext& context, const std::string& volume) {
  // How often a wait checks whether its caller has gone away.
  constexpr absl::Duration kLook = absl::Milliseconds(20);
  const YieldSlot yielded(context);
  for (;;) {
    std::shared_ptr<Run> run;
    bool is_own = false;
    {
      const MutexLock lock(mutex_);
      std::shared_ptr<Run>& latest = runs_[volume];
      is_own = latest == nullptr;
      if (is_own) latest = std::make_shared<Run>();
      run = latest;
      if (is_own) {
        absl::StatusOr<std::thread> started = StartThread([this, run, volume] {
          run->result = os_.Flush(volume);
          run->done.Notify();
        });
        if (!started.ok()) {
          runs_.erase(volume);
          return started.status();
        }
        run->thread = *std::move(started);
      }
    }
    while (!run->done.WaitForNotificationWithTimeout(kLook)) {
      const absl::Status over = context.Check();
      if (!over.ok()) return Prefixed("Windows has not finished the flush", over);
    }
    const MutexLock lock(mutex_);
    if (const auto it = runs_.find(volume); it != runs_.end() && it->second == run) {
      run->thread.join();
      runs_.erase(it);
    }
    if (is_own) return run->result;
  }
}

}  // namespace csi_proxy::host

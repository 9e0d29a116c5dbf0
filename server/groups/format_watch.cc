#include "server/groups/format_watch.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "csi_proxy/steady_time.h"
#include "server/base/start_thread.h"

namespace csi_proxy::groups {
namespace {

std::string Text(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Milliseconds(1)));
}

// Returns true if the caller gave up, which does not stop Windows' format.
bool WasGivenUp(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
}

}  // namespace

FormatWatch::~FormatWatch() {
  std::thread watcher;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyOne();
    watcher = std::move(watcher_);
  }
  if (watcher.joinable()) watcher.join();
}

absl::Status FormatWatch::Run(const std::string& what, absl::FunctionRef<absl::Status()> format) {
  const SteadyTime begin = SteadyTime::Now();
  log_(absl::StrCat(what, ": started"));
  const auto entry = [&] {
    const MutexLock lock(mutex_);
    if (!watcher_.joinable()) {
      // If the thread cannot be started, the format runs and the log lacks the lines in between.
      absl::StatusOr<std::thread> watcher = StartThread([this] { Watch(); });
      if (watcher.ok()) watcher_ = *std::move(watcher);
    }
    changed_.NotifyOne();
    return running_.emplace(begin, Format{what, begin + every_});
  }();
  const absl::Status status = format();
  {
    const MutexLock lock(mutex_);
    running_.erase(entry);
  }
  const std::string duration = Text(SteadyTime::Now() - begin);
  if (status.ok()) {
    log_(absl::StrCat(what, ": done after ", duration));
  } else {
    log_(absl::StrCat(what, WasGivenUp(status) ? ": abandoned after " : ": failed after ", duration,
                      WasGivenUp(status) ? ", Windows may still be formatting: " : ": ",
                      status.message()));
  }
  return status;
}

void FormatWatch::Watch() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    SteadyTime next = SteadyTime::InfiniteFuture();
    for (auto& [begin, format] : running_) {
      const SteadyTime now = SteadyTime::Now();
      if (format.next_line <= now) {
        log_(absl::StrCat(format.what, ": still running after ", Text(now - begin)));
        format.next_line = now + every_;
      }
      next = std::min(next, format.next_line);
    }
    changed_.WaitUntil(mutex_, next);
  }
}

FormatWatch::Running FormatWatch::running() const {
  const MutexLock lock(mutex_);
  Running running;
  running.count = running_.size();
  if (!running_.empty()) running.oldest = SteadyTime::Now() - running_.begin()->first;
  return running;
}

}  // namespace csi_proxy::groups

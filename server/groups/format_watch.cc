#include "server/groups/format_watch.h"

#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace csi_proxy::groups {
namespace {

std::string Text(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Milliseconds(1)));
}

// True if the caller gave up, which does not end the format in Windows.
bool WasGivenUp(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
}

}  // namespace

absl::Status FormatWatch::Run(const std::string& what, absl::FunctionRef<absl::Status()> format) {
  const absl::Time begin = absl::Now();
  const auto entry = [&] {
    const std::lock_guard<Mutex> lock(mutex_);
    return running_.emplace(begin, what);
  }();
  log_(absl::StrCat(what, ": started"));
  absl::Notification over;
  std::thread teller;
  try {
    teller = std::thread([&] {
      while (!over.WaitForNotificationWithTimeout(every_)) {
        log_(absl::StrCat(what, ": still running after ", Text(absl::Now() - begin)));
      }
    });
  } catch (const std::system_error&) {
    // The format matters more than the log.
  }
  const absl::Status status = format();
  over.Notify();
  if (teller.joinable()) teller.join();
  {
    const std::lock_guard<Mutex> lock(mutex_);
    running_.erase(entry);
  }
  const std::string duration = Text(absl::Now() - begin);
  if (status.ok()) {
    log_(absl::StrCat(what, ": done after ", duration));
  } else {
    log_(absl::StrCat(what, WasGivenUp(status) ? ": given up after " : ": failed after ", duration,
                      WasGivenUp(status) ? ", Windows may still be at it: " : ": ",
                      status.message()));
  }
  return status;
}

FormatWatch::Running FormatWatch::running() const {
  const std::lock_guard<Mutex> lock(mutex_);
  Running running;
  running.count = running_.size();
  if (!running_.empty()) running.oldest = absl::Now() - running_.begin()->first;
  return running;
}

}  // namespace csi_proxy::groups

// Makes long formats visible.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/condition.h"

namespace csi_proxy::groups {

// Logs the begin, each half minute and the end of a format, and counts running formats for a
// metric. Windows does not report the progress of a format: MSFT_Volume.Format has no documented
// way to run as a job (learn.microsoft.com/windows-hardware/drivers/storage/format-msft-volume).
// Thread-safe.
class FormatWatch {
 public:
  // The interval at which the log hears of a format that still runs.
  static constexpr absl::Duration kEvery = absl::Seconds(30);

  explicit FormatWatch(std::function<void(absl::string_view)> log, absl::Duration every = kEvery)
      : log_(std::move(log)), every_(every) {}
  ~FormatWatch();

  // Runs the format that `what` names, and returns its status.
  absl::Status Run(const std::string& what, absl::FunctionRef<absl::Status()> format);

  // Writes a line about formats to the log.
  void Log(absl::string_view line) { log_(line); }

  struct Running {
    size_t count = 0;
    // For how long the oldest has run; 0 when none runs.
    absl::Duration oldest;
  };
  Running running() const;

 private:
  struct Format {
    std::string what;
    absl::Time next_line;
  };

  // Writes a line for each format that is due, until the end.
  void Watch();

  const std::function<void(absl::string_view)> log_;
  const absl::Duration every_;
  mutable Mutex mutex_;
  Condition changed_;
  // By their begin.
  std::multimap<absl::Time, Format> running_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Watches all formats, from the first one on.
  std::thread watcher_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::groups

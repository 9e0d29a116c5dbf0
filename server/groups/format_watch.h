// Logs and counts formats that take long.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"

namespace csi_proxy::groups {

// Logs the start, each half minute and the end of a format, and counts running formats for a
// metric. Windows does not report progress: MSFT_Volume.Format has no documented way to run as a
// job (learn.microsoft.com/windows-hardware/drivers/storage/format-msft-volume). Thread-safe.
class FormatWatch {
 public:
  // The interval of log lines about a running format.
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
    // The run time of the oldest format; 0 if none runs.
    absl::Duration oldest;
  };
  Running running() const;

 private:
  struct Format {
    std::string what;
    SteadyTime next_line;
  };

  // Logs each format that is due, until the destructor stops it.
  void Watch();

  const std::function<void(absl::string_view)> log_;
  const absl::Duration every_;
  mutable Mutex mutex_;
  Condition changed_;
  // Keyed by start.
  std::multimap<SteadyTime, Format> running_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Watches all formats; started with the first one.
  std::thread watcher_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::groups

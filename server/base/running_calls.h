// The rpcs and formats that run in this process, so that a waiting call can name the rpc that it
// waits for, and long runs are reported.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/log_function.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"

namespace csi_proxy {

// A call of this age or more is reported as hanging.
inline constexpr absl::Duration kLongCall = absl::Minutes(1);

enum class RunKind { kCall, kFormat };

struct RunInfo {
  RunKind kind;
  // For an rpc `volume.UnmountVolume`; for a format `formatting volume \\?\Volume{...}\ with NTFS`.
  std::string name;
  // The request as in the audit log, at most 400 bytes; empty for a read-only rpc and a format.
  std::string subject;
  SteadyTime start;
  // CallContext::trace().
  std::string trace;
};

// Registers a call or format while this object lives. Thread-safe.
class Running {
 public:
  Running(RunKind kind, std::string name, std::string subject = "", absl::string_view trace = "");
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // Returns the runs of `kind` that have lasted `age` or longer at `now`, the oldest first.
  static std::vector<RunInfo> OlderThan(RunKind kind, absl::Duration age,
                                        SteadyTime now = SteadyTime::Now());

 private:
  struct Entry;
  Entry* const entry_;
};

// Registers an rpc of the hub on its thread while this object lives. Thread-safe.
class RunningCall {
 public:
  explicit RunningCall(const char* rpc, std::string subject = "", absl::string_view trace = "");
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  // Returns the rpc that this thread runs, or "".
  static const char* OfThisThread();

 private:
  const Running running_;
  // The rpc that called this one on the same thread, if any.
  const char* const outer_;
};

// Logs calls and formats of this process that take long, on a thread of its own.
class LongRunLog {
 public:
  // `calls` gets a line once a call has run for `age`, and again whenever its age has doubled.
  // `formats` gets a line for each half of `age` that a format has run, because Windows does not
  // report progress: MSFT_Volume.Format has no documented way to run as a job
  // (learn.microsoft.com/windows-hardware/drivers/storage/format-msft-volume). If the system starts
  // no more threads, there are no lines.
  LongRunLog(LineFunction calls, LineFunction formats, absl::Duration age = kLongCall);
  ~LongRunLog();
  LongRunLog(const LongRunLog&) = delete;
  LongRunLog& operator=(const LongRunLog&) = delete;

 private:
  void Watch();
  absl::Duration NextLine(RunKind kind, absl::Duration age) const;

  const LineFunction calls_;
  const LineFunction formats_;
  const absl::Duration age_;
  Mutex mutex_;
  Condition stopped_;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace csi_proxy

// The rpcs that run in this process, so that a waiting call can name the rpc that it waits for, and
// a hanging call is reported.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"

namespace csi_proxy {

// The age from which a call is reported as hanging.
inline constexpr absl::Duration kLongCall = absl::Minutes(1);

struct RunningCallInfo {
  // `volume.UnmountVolume`.
  std::string rpc;
  // The request as in the audit log, at most 200 bytes; empty for a read-only rpc.
  std::string subject;
  SteadyTime start;
  // CallContext::trace().
  std::string trace;
};

// Registers an rpc of the hub on its thread while this object lives. Thread-safe.
class RunningCall {
 public:
  explicit RunningCall(const char* rpc, std::string subject = "", absl::string_view trace = "");
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  // Returns the rpc that this thread runs; "" for none.
  static const char* OfThisThread();

  // Returns the calls that have run for `age` or longer at `now`, the oldest first.
  static std::vector<RunningCallInfo> OlderThan(absl::Duration age,
                                                SteadyTime now = SteadyTime::Now());

 private:
  struct Entry;
  Entry* const entry_;
  // The rpc that called this one on the same thread, if any.
  const char* const outer_;
};

}  // namespace csi_proxy

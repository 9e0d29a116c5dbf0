// The rpcs that this process runs, so that a call that waits for another learns for which one, and
// a call that hangs is seen.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace csi_proxy {

// The age from which a call is reported as one that hangs.
inline constexpr absl::Duration kLongCall = absl::Minutes(1);

struct RunningCallInfo {
  // `volume.UnmountVolume`.
  std::string rpc;
  // The request as the audit log has it, at most 200 bytes; empty for an rpc that only reads.
  std::string subject;
  absl::Time start;
};

// An rpc of the hub, from its begin to its end on one thread. Thread-safe.
class RunningCall {
 public:
  explicit RunningCall(const char* rpc, std::string subject = "");
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  // Returns the rpc that this thread runs; "" for none.
  static const char* OfThisThread();

  // Returns the calls that have run for `age` or longer, the oldest first.
  static std::vector<RunningCallInfo> OlderThan(absl::Duration age);

 private:
  struct Entry;
  Entry* const entry_;
  // An rpc may call another.
  const char* const outer_;
};

}  // namespace csi_proxy

// Limits repeated log lines, so that a client that always fails fills neither the disk nor the
// service's time.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"

namespace csi_proxy::observability {

// Chooses the events to log. Events of one kind have the same method, process and status code. The
// first kWritten events of a kind in a minute are logged. The rest are counted until the minute
// ends. A tenant has up to kMaxKinds kinds for each status code. Its processes share them by the
// rule of tenant_part.h. Events of further kinds are counted together. So, with up to kMaxTenants
// tenants, no client can suppress the lines of another tenant, or hide refusals behind failures
// with another code. All RESOURCE_EXHAUSTED events of a tenant are one kind: the first is logged,
// then one count a minute. Thread-safe.
class Repeats {
 public:
  static constexpr uint64_t kWritten = 5;
  static constexpr size_t kMaxKinds = 256;  // of a tenant and a code
  // The maximum number of tenants with kinds of their own in a minute. All further tenants together
  // have kMaxKinds kinds for each status code.
  static constexpr size_t kMaxTenants = 64;
  static constexpr absl::Duration kPeriod = absl::Minutes(1);

  // Events that were counted but not logged.
  struct Count {
    // The method; "*" if the count is for several methods. The process may then be one of several.
    std::string what;
    int64_t process_id = 0;
    std::string image_path;
    absl::StatusCode code = absl::StatusCode::kUnknown;
    uint64_t times = 0;
  };

  // `write` receives the counts of a minute that has ended, on the thread that calls Admit(),
  // WriteEnded() or the destructor. If `write` is null, counts are dropped.
  explicit Repeats(std::function<void(const Count&)> write) : write_(std::move(write)) {}
  // Writes the counts of the last minute.
  ~Repeats() { WriteEnded(SteadyTime::InfiniteFuture()); }

  // Counts an event, and returns true if it should be logged. Also writes the counts of minutes
  // that are over. REQUIRES: `what` is a constant, because its address identifies the method.
  bool Admit(const char* what, const Peer& peer, absl::StatusCode code, SteadyTime now);

  // Writes the counts of minutes that are over.
  void WriteEnded(SteadyTime now) {
    if (counting_.load(std::memory_order_relaxed)) EndPeriod(now);
  }

 private:
  void EndPeriod(SteadyTime now);

  struct Kind {
    const void* what;
    int64_t process_id;
    auto operator<=>(const Kind&) const = default;
  };
  struct Kinds {
    std::map<Kind, Count> counts;
    Count beyond;
  };

  const std::function<void(const Count&)> write_;
  std::atomic<bool> counting_ = false;
  Mutex mutex_;
  SteadyTime end_ ABSL_GUARDED_BY(mutex_) = SteadyTime::InfinitePast();
  std::map<std::string, std::map<absl::StatusCode, Kinds>> tenants_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::observability

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

namespace csi_proxy::service {

// Chooses the events to log. Of each kind it logs the first kWritten in a minute, and counts the
// rest until the minute ends. A kind is a method, a process and a code. For each code a tenant has
// kMaxKinds kinds of its own (processes share them as they share connections); events beyond them
// are counted together. So no client can suppress another tenant's lines, or hide refusals behind
// failures with another code. All refusals for a limit (RESOURCE_EXHAUSTED) of a tenant are one
// kind: the first is logged, then one count a minute. Thread-safe.
class Repeats {
 public:
  static constexpr uint64_t kWritten = 5;
  static constexpr size_t kMaxKinds = 256;  // of a tenant and a code
  // Further tenants share one entry.
  static constexpr size_t kMaxTenants = 64;
  static constexpr absl::Duration kPeriod = absl::Minutes(1);

  // Events that were counted but not logged.
  struct Count {
    std::string what;  // "*" for several methods and processes; then the last process is given
    int64_t process_id = 0;
    std::string image_path;
    absl::StatusCode code = absl::StatusCode::kUnknown;
    uint64_t times = 0;
  };

  // `write` receives the counts of a minute that has ended, on the thread that calls. If it is
  // null, counts are dropped.
  explicit Repeats(std::function<void(const Count&)> write) : write_(std::move(write)) {}
  // Writes the counts of the last minute.
  ~Repeats() { WriteEnded(SteadyTime::InfiniteFuture()); }

  // Returns true if the event should be logged. `what` must be a constant.
  bool Admit(const char* what, const Peer& peer, absl::StatusCode code, SteadyTime now);

  // Writes the counts of minutes that are over, as Admit() does.
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

}  // namespace csi_proxy::service

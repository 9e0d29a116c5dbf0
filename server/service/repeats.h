// Chooses which of many like events are written one by one, and which are only counted: so that a
// client that fails without end fills neither a disk nor the time of the service.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/base/condition.h"

namespace csi_proxy::observability {

// Thread-safe. The first few events of each kind in a minute are written, the rest are counted
// until the minute is over. A kind is a method, a process and a code. Each tenant has kinds of its
// own for each code, so that no client decides what is written about another tenant, nor hides its
// refusals behind failures of another code; the processes of a tenant share its kinds as they share
// connections. Events beyond a tenant's kinds are counted together.
class Repeats {
 public:
  static constexpr uint64_t kWritten = 5;
  static constexpr size_t kMaxKinds = 256;  // of a tenant and a code
  // Further tenants of a minute share one entry.
  static constexpr size_t kMaxTenants = 64;
  static constexpr absl::Duration kPeriod = absl::Minutes(1);

  // Lines that were counted and not written.
  struct Count {
    std::string what;  // "*": several, of several processes, of which the last is named
    int64_t process_id = 0;
    std::string image_path;
    absl::StatusCode code = absl::StatusCode::kUnknown;
    uint64_t times = 0;
  };

  // Tells whether this one is written. `what` is a constant. When a minute has ended, its counts
  // are added to `*ended`.
  bool Admit(const char* what, const Peer& peer, absl::StatusCode code, absl::Time now,
             std::vector<Count>* ended);

  // Tells whether there are counts to come; returns those of a minute that has ended by `now`.
  bool counting() const { return counting_.load(std::memory_order_relaxed); }
  std::vector<Count> TakeEnded(absl::Time now);

 private:
  void EndPeriod(absl::Time now, std::vector<Count>* ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Kind {
    const void* what;
    int64_t process_id;
    auto operator<=>(const Kind&) const = default;
  };
  struct Kinds {
    std::map<Kind, Count> counts;
    Count beyond;
  };

  std::atomic<bool> counting_ = false;
  Mutex mutex_;
  absl::Time end_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::map<std::string, std::map<absl::StatusCode, Kinds>> tenants_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::observability

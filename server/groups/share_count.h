// Counts the node's SMB mappings and the links to them, for metrics.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/steady_time.h"
#include "csi_proxy/storage/hub.h"
#include "server/base/condition.h"

namespace csi_proxy::groups {

struct ShareCounts {
  size_t linked = 0;    // mappings with a link
  size_t unlinked = 0;  // mappings without a link
  // Mappings without a known link, if some directories could not be read.
  size_t unknown = 0;
  size_t links = 0;  // links to all mappings

  bool operator==(const ShareCounts&) const = default;
};

ShareCounts CountShares(const storage::ListSmbMappingsResponse& response);

// Counts on its own thread and returns the last counts, because a count queries WMI and walks the
// working directories, and a metrics scrape must not wait for that. Thread-safe.
class ShareCount {
 public:
  // A count is due kEvery after the start of the last one. A pod can cause a slow count, so the
  // pause between two counts is also at least kRest times as long as the last count took.
  static constexpr absl::Duration kEvery = absl::Minutes(1);
  static constexpr int kRest = 20;
  // The time limit of a count.
  static constexpr absl::Duration kLongest = absl::Seconds(20);

  using List =
      std::function<absl::StatusOr<storage::ListSmbMappingsResponse>(const CallContext& context)>;
  explicit ShareCount(List list, absl::Duration every = kEvery)
      : list_(std::move(list)), every_(every) {}
  // Cancels a running count.
  ~ShareCount();

  // Returns the last counts, or nullopt before the first or after a failed one. Starts a due count.
  std::optional<ShareCounts> Get();

 private:
  void Run();

  const List list_;
  const absl::Duration every_;
  absl::Notification stopped_;
  Mutex mutex_;
  std::optional<ShareCounts> last_ ABSL_GUARDED_BY(mutex_);
  SteadyTime due_ ABSL_GUARDED_BY(mutex_) = SteadyTime::InfinitePast();
  bool counting_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::groups

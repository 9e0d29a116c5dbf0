// Counts the node's SMB mappings and the links that lead to them, for metrics.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/storage/hub.h"
#include "server/base/condition.h"

namespace csi_proxy::groups {

struct ShareCounts {
  // Mappings to which a link leads, to which none does, and of which it is not known because not
  // all directories could be looked at.
  size_t linked = 0;
  size_t unlinked = 0;
  size_t unknown = 0;
  size_t links = 0;

  bool operator==(const ShareCounts&) const = default;
};

ShareCounts CountShares(const storage::ListSmbMappingsResponse& response);

// Counts on a thread of its own and hands out the last counts: a count asks WMI and walks the
// working directories, and whoever scrapes metrics does not wait for either. Thread-safe.
class ShareCount {
 public:
  // No count begins sooner after another, nor before this many times the time that the other took:
  // a pod can make the walk slow.
  static constexpr absl::Duration kEvery = absl::Minutes(1);
  static constexpr int kRest = 20;
  // Each is given up then.
  static constexpr absl::Duration kLongest = absl::Seconds(20);

  using List =
      std::function<absl::StatusOr<storage::ListSmbMappingsResponse>(const CallContext& context)>;
  explicit ShareCount(List list, absl::Duration every = kEvery)
      : list_(std::move(list)), every_(every) {}
  // Gives up a count that is under way.
  ~ShareCount();

  // The last counts; nothing before the first and after one that failed. Begins a count that is
  // due.
  std::optional<ShareCounts> Get();

 private:
  void Run();

  const List list_;
  const absl::Duration every_;
  absl::Notification stopped_;
  Mutex mutex_;
  std::optional<ShareCounts> last_ ABSL_GUARDED_BY(mutex_);
  absl::Time due_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool counting_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::groups

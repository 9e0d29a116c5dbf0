#include "server/groups/share_count.h"

#include <algorithm>
#include <utility>

#include "csi_proxy/steady_time.h"
#include "server/base/start_thread.h"

namespace csi_proxy::groups {

ShareCounts CountShares(const storage::ListSmbMappingsResponse& response) {
  ShareCounts counts;
  for (const storage::SmbMapping& mapping : response.mappings) {
    counts.links += mapping.links.size();
    if (!mapping.links.empty()) {
      ++counts.linked;
    } else {
      ++(response.incomplete ? counts.unknown : counts.unlinked);
    }
  }
  return counts;
}

ShareCount::~ShareCount() {
  stopped_.Notify();
  std::thread last;
  {
    const MutexLock lock(mutex_);
    last = std::move(thread_);
  }
  if (last.joinable()) last.join();
}

std::optional<ShareCounts> ShareCount::Get() {
  const MutexLock lock(mutex_);
  if (!counting_ && SteadyTime::Now() >= due_) {
    // The last count is done, so join() does not wait long.
    if (thread_.joinable()) thread_.join();
    absl::StatusOr<std::thread> thread = StartThread([this] { Run(); });
    counting_ = thread.ok();
    if (thread.ok()) thread_ = *std::move(thread);
  }
  return last_;
}

void ShareCount::Run() {
  const SteadyTime begin = SteadyTime::Now();
  const absl::StatusOr<storage::ListSmbMappingsResponse> listed =
      list_(CallContext(begin + kLongest, &stopped_));
  const MutexLock lock(mutex_);
  last_ = listed.ok() ? std::optional(CountShares(*listed)) : std::nullopt;
  const SteadyTime now = SteadyTime::Now();
  due_ = std::max(begin + every_, now + kRest * (now - begin));
  counting_ = false;
}

}  // namespace csi_proxy::groups

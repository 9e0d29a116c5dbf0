// The volumes that have been in use since the start of the process. A call that formats only blank
// volumes refuses them, even if they read as blank.
#pragma once

#include <deque>
#include <set>

#include "server/base/condition.h"
#include "server/names/volume_id.h"

namespace csi_proxy::host {

// The last 10,000 volumes for which Windows reported a file system, or that a call flushed while
// the mount manager named a folder for them. Thread-safe.
class UsedVolumes {
 public:
  void Add(const VolumeId& volume) {
    constexpr size_t kMost = 10'000;
    const MutexLock lock(mutex_);
    if (!volumes_.insert(volume).second) return;
    by_age_.push_back(volume);
    if (by_age_.size() <= kMost) return;
    volumes_.erase(by_age_.front());
    by_age_.pop_front();
  }
  bool Has(const VolumeId& volume) const {
    const MutexLock lock(mutex_);
    return volumes_.contains(volume);
  }

 private:
  mutable Mutex mutex_;
  std::set<VolumeId> volumes_ ABSL_GUARDED_BY(mutex_);
  std::deque<VolumeId> by_age_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::host

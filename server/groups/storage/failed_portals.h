// The iSCSI portals by which this process has failed to connect a target.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/base/condition.h"

namespace csi_proxy::storage {

// Lets a repeated StageTarget begin with the portals that have not failed before. Remembers only
// names, of at most 64 targets with 16 portals each. Thread-safe.
class FailedPortals {
 public:
  // Returns the indexes of `portals` in the order in which to try them: first those that have not
  // failed, then the others, beginning with the oldest failure.
  std::vector<size_t> Order(const std::string& iqn, const std::vector<std::string>& portals) const {
    const MutexLock lock(mutex_);
    const auto found = failed_.find(iqn);
    std::vector<size_t> order(portals.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (found == failed_.end()) return order;
    const std::vector<std::string>& failed = found->second;
    // The age of a failure; 0 without one.
    const auto age = [&](size_t i) {
      const auto at = std::find(failed.begin(), failed.end(), portals[i]);
      return at == failed.end() ? 0 : at - failed.begin() + 1;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return age(a) < age(b); });
    return order;
  }

  void Note(const std::string& iqn, const std::string& portal) {
    const MutexLock lock(mutex_);
    if (failed_.size() == kMostTargets && !failed_.contains(iqn)) failed_.erase(failed_.begin());
    std::vector<std::string>& failed = failed_[iqn];
    std::erase(failed, portal);
    if (failed.size() == kMostPortals) failed.erase(failed.begin());
    failed.push_back(portal);
  }

  void Forget(const std::string& iqn) {
    const MutexLock lock(mutex_);
    failed_.erase(iqn);
  }

 private:
  static constexpr size_t kMostTargets = 64;
  static constexpr size_t kMostPortals = 16;

  mutable Mutex mutex_;
  // Keyed by target; the portal with the oldest failure is first.
  std::unordered_map<std::string, std::vector<std::string>> failed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::storage

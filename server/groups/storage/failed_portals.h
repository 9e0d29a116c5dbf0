// The iSCSI portals by which this process has failed to connect a target.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "csi_proxy/call_context.h"
#include "server/base/condition.h"
#include "server/base/windows_path.h"

namespace csi_proxy::storage {

// Lets a repeated StageTarget begin with the portals that have not failed before. Records failures
// for each tenant apart, because a wrong secret or a short deadline of the call may be the cause.
// Keeps only names, of at most 64 targets with 16 portals each. At the limit, a target of the
// tenant with the most targets is forgotten. A cancelled call counts like one whose deadline has
// passed. Thread-safe.
class FailedPortals {
 public:
  // Returns the indexes of `portals` in the order in which to try them: first those that have not
  // failed, then the others, beginning with the oldest failure.
  std::vector<size_t> Order(const CallContext& context, const std::string& iqn,
                            const std::vector<std::string>& portals) const {
    const MutexLock lock(mutex_);
    const auto found = failed_.find(KeyOf(context, iqn));
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

  void Note(const CallContext& context, const std::string& iqn, const std::string& portal) {
    const MutexLock lock(mutex_);
    const Key key = KeyOf(context, iqn);
    if (failed_.size() == kMostTargets && !failed_.contains(key)) MakeRoom();
    std::vector<std::string>& failed = failed_[key];
    std::erase(failed, portal);
    if (failed.size() == kMostPortals) failed.erase(failed.begin());
    failed.push_back(portal);
  }

  void Forget(const CallContext& context, const std::string& iqn) {
    const MutexLock lock(mutex_);
    failed_.erase(KeyOf(context, iqn));
  }

 private:
  static constexpr size_t kMostTargets = 64;
  static constexpr size_t kMostPortals = 16;

  // A tenant and the name of a target.
  using Key = std::pair<std::string, std::string>;
  static Key KeyOf(const CallContext& context, const std::string& iqn) {
    return {context.peer().tenant, FoldName(iqn)};
  }

  // Forgets a target of the tenant that has the most.
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::map<std::string, size_t> targets;
    for (const auto& entry : failed_) ++targets[entry.first.first];
    const auto most = std::ranges::max_element(
        targets, [](const auto& a, const auto& b) { return a.second < b.second; });
    failed_.erase(failed_.lower_bound({most->first, ""}));
  }

  mutable Mutex mutex_;
  // The portal with the oldest failure is first.
  std::map<Key, std::vector<std::string>> failed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::storage

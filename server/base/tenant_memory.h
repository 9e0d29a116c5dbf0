// A bounded memory of what tenants did. A tenant with too many values loses its own oldest values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"

namespace csi_proxy {

// Holds one value for each tenant and key, and at most `most` values in all: beyond `most`, the
// tenant with the most values loses its oldest value. Each call takes time in proportion to the
// values held. Thread-safe.
template <typename Key, typename Value>
class TenantMemory {
 public:
  struct Entry {
    std::string tenant;
    Key key;
    Value value;
    SteadyTime since;
  };

  // Values older than `longest` are forgotten. REQUIRES: `most` > 0.
  explicit TenantMemory(size_t most, absl::Duration longest = absl::InfiniteDuration())
      : most_(most), longest_(longest) {}

  // Sets the value of a tenant and key. The value becomes the youngest, even if it replaces one.
  void Set(const std::string& tenant, const Key& key, Value value) {
    const MutexLock lock(mutex_);
    entries_.remove_if(
        [&](const Entry& one) { return IsOld(one) || (one.tenant == tenant && one.key == key); });
    entries_.push_back({tenant, key, std::move(value), SteadyTime::Now()});
    if (entries_.size() <= most_) return;
    std::map<std::string, size_t> counts;
    for (const Entry& one : entries_) ++counts[one.tenant];
    const auto most =
        std::ranges::max_element(counts, {}, &std::map<std::string, size_t>::value_type::second);
    // In a tie the caller's tenant loses, because the other tenant does not have more values.
    const std::string& loser = counts[tenant] == most->second ? tenant : most->first;
    entries_.erase(std::ranges::find(entries_, loser, &Entry::tenant));
  }

  // Forgets the entries that `is_meant` accepts.
  template <typename Predicate>
  void Forget(Predicate is_meant) {
    const MutexLock lock(mutex_);
    entries_.remove_if(is_meant);
  }

  // Forgets the value of a tenant and key.
  void Forget(const std::string& tenant, const Key& key) {
    Forget([&](const Entry& one) { return one.tenant == tenant && one.key == key; });
  }

  // Returns the value of a tenant and key, if it is kept.
  std::optional<Value> Find(const std::string& tenant, const Key& key) const {
    const auto found =
        Select([&](const Entry& one) { return one.tenant == tenant && one.key == key; });
    return found.empty() ? std::nullopt : std::optional<Value>(found.front().value);
  }

  // Returns the entries that `is_meant` accepts, the oldest first.
  template <typename Predicate>
  std::vector<Entry> Select(Predicate is_meant) const {
    const MutexLock lock(mutex_);
    std::vector<Entry> selected;
    std::ranges::copy_if(entries_, std::back_inserter(selected),
                         [&](const Entry& one) { return !IsOld(one) && is_meant(one); });
    return selected;
  }

 private:
  bool IsOld(const Entry& entry) const { return SteadyTime::Now() - entry.since > longest_; }

  const size_t most_;
  const absl::Duration longest_;
  mutable Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace csi_proxy

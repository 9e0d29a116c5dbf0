#include "server/base/fallbacks.h"

#include <atomic>
#include <memory>
#include <utility>

#include "server/base/condition.h"

namespace csi_proxy {
namespace {

constexpr bool IsInOrder() {
  for (size_t i = 0; i < kFallbacks.size(); ++i) {
    if (static_cast<size_t>(kFallbacks[i].fallback) != i) return false;
  }
  return true;
}
static_assert(IsInOrder() && kFallbacks.back().fallback == Fallback::kNoPrivateNamespace,
              "the table has every fallback, in the order of the enumeration");

std::atomic<uint64_t> counts[kFallbacks.size()];

constinit Mutex observer_mutex;

// Returns the pointer to the observer, which is never destroyed, because threads may outlive
// main().
std::shared_ptr<const FallbackObserver>& Observer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(observer_mutex) {
  static auto* const kObserver = new std::shared_ptr<const FallbackObserver>();
  return *kObserver;
}

}  // namespace

void RecordFallback(Fallback fallback, absl::string_view why) {
  const auto index = static_cast<size_t>(fallback);
  counts[index].fetch_add(1, std::memory_order_relaxed);
  std::shared_ptr<const FallbackObserver> observer;
  {
    const MutexLock lock(observer_mutex);
    observer = Observer();
  }
  if (observer != nullptr) (*observer)(kFallbacks[index], why);
}

uint64_t FallbackCount(Fallback fallback) {
  return counts[static_cast<size_t>(fallback)].load(std::memory_order_relaxed);
}

void ObserveFallbacks(FallbackObserver observer) {
  std::shared_ptr<const FallbackObserver> next;
  if (observer) next = std::make_shared<const FallbackObserver>(std::move(observer));
  const MutexLock lock(observer_mutex);
  Observer() = std::move(next);
}

}  // namespace csi_proxy

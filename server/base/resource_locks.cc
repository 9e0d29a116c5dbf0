#include "server/base/resource_locks.h"

#include <mutex>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/base/turn_queue.h"

namespace csi_proxy {

struct ResourceLocks::State {
  mutable std::mutex mutex;
  // The held names, each with its waiters. Guarded by `mutex`.
  std::unordered_map<std::string, TurnQueue> held;

  // Passes `name` to its first waiter, or erases it if there is none.
  void Release(const std::string& name) {
    std::lock_guard lock(mutex);
    const auto entry = held.find(name);
    if (!entry->second.Pass()) held.erase(entry);
  }
};

ResourceLocks::ResourceLocks(std::unique_ptr<ProcessLocks> processes)
    : state_(std::make_unique<State>()), processes_(std::move(processes)) {}
ResourceLocks::~ResourceLocks() = default;

absl::StatusOr<ResourceLocks::Lock> ResourceLocks::Acquire(const CallContext& context,
                                                           absl::string_view name) {
  absl::StatusOr<Lock> lock = AcquireHere(context, name);
  if (!lock.ok() || processes_ == nullptr) return lock;
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<ProcessLocks::Held> held,
                        processes_->Acquire(context, name));
  lock->across_processes_ = std::move(held);
  return lock;
}

absl::StatusOr<ResourceLocks::Lock> ResourceLocks::AcquireHere(const CallContext& context,
                                                               absl::string_view name) {
  std::string key(name);
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->held.try_emplace(key).second) return Lock(state_.get(), std::move(key));
  }
  const YieldSlot yielded(context);
  std::unique_lock lock(state_->mutex);
  const auto [entry, is_free] = state_->held.try_emplace(key);
  if (is_free) return Lock(state_.get(), std::move(key));
  if (absl::Status status = entry->second.Wait(context, lock); !status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat(status.message(), " while another call holds ", name));
  }
  return Lock(state_.get(), std::move(key));
}

size_t ResourceLocks::size() const {
  std::lock_guard lock(state_->mutex);
  return state_->held.size();
}

ResourceLocks::Lock::Lock(State* state, std::string name) : state_(state), name_(std::move(name)) {}

ResourceLocks::Lock::Lock(Lock&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)),
      name_(std::move(other.name_)),
      across_processes_(std::move(other.across_processes_)) {}

ResourceLocks::Lock& ResourceLocks::Lock::operator=(Lock&& other) noexcept {
  if (this != &other) {
    Release();
    state_ = std::exchange(other.state_, nullptr);
    name_ = std::move(other.name_);
    across_processes_ = std::move(other.across_processes_);
  }
  return *this;
}

ResourceLocks::Lock::~Lock() { Release(); }

void ResourceLocks::Lock::Release() {
  if (state_ == nullptr) return;
  across_processes_.reset();
  state_->Release(name_);
}

}  // namespace csi_proxy

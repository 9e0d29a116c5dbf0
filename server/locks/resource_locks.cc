#include "server/locks/resource_locks.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/base/running_calls.h"
#include "server/base/status_macros.h"
#include "server/locks/turn_queue.h"

namespace csi_proxy {
namespace {

std::string Age(SteadyTime since) {
  return absl::FormatDuration(absl::Trunc(SteadyTime::Now() - since, absl::Milliseconds(100)));
}

}  // namespace

struct ResourceLocks::State {
  mutable Mutex mutex;
  struct Held {
    TurnQueue waiters;
    // The rpc that holds the name, or "".
    const char* rpc = "";
    // When the holder got the name.
    SteadyTime since;

    void Take() {
      rpc = RunningCall::OfThisThread();
      since = SteadyTime::Now();
    }
  };
  std::unordered_map<std::string, Held> held ABSL_GUARDED_BY(mutex);  // by name

  // Passes `name` to the next waiter, or erases `name` if no call waits.
  void Release(const std::string& name) {
    const MutexLock lock(mutex);
    const auto entry = held.find(name);
    if (!entry->second.waiters.Pass()) held.erase(entry);
  }
};

ResourceLocks::ResourceLocks(std::unique_ptr<ProcessLocks> processes)
    : state_(std::make_unique<State>()), processes_(std::move(processes)) {}
ResourceLocks::~ResourceLocks() = default;

absl::StatusOr<ResourceLocks::Lock> ResourceLocks::Acquire(const CallContext& context,
                                                           absl::string_view name) {
  absl::StatusOr<Lock> lock = AcquireInProcess(context, name);
  if (!lock.ok() || processes_ == nullptr) return lock;
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<ProcessLocks::Held> held,
                        processes_->Acquire(context, name));
  lock->across_processes_ = std::move(held);
  return lock;
}

absl::StatusOr<ResourceLocks::Lock> ResourceLocks::AcquireInProcess(const CallContext& context,
                                                                    absl::string_view name) {
  std::string key(name);
  {
    const MutexLock lock(state_->mutex);
    if (const auto [entry, is_free] = state_->held.try_emplace(key); is_free) {
      entry->second.Take();
      return Lock(state_.get(), std::move(key), false);
    }
  }
  const YieldSlot yielded(context);
  const MutexLock lock(state_->mutex);
  const auto [entry, is_free] = state_->held.try_emplace(key);
  // A reference stays valid when other calls rehash the map during the wait; an iterator does not.
  State::Held& held = entry->second;
  if (!is_free) {
    const absl::Status status = held.waiters.Wait(context, state_->mutex);
    if (!status.ok()) {
      const std::string holder =
          *held.rpc == 0 ? "" : absl::StrCat(": ", held.rpc, ", for ", Age(held.since));
      return absl::Status(status.code(), absl::StrCat(status.message(),
                                                      " while another call holds ", name, holder));
    }
  }
  held.Take();
  return Lock(state_.get(), std::move(key), !is_free);
}

size_t ResourceLocks::size() const {
  const MutexLock lock(state_->mutex);
  return state_->held.size();
}

ResourceLocks::Lock::Lock(State* state, std::string name, bool has_waited)
    : state_(state), name_(std::move(name)), has_waited_(has_waited) {}

ResourceLocks::Lock::Lock(Lock&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)),
      name_(std::move(other.name_)),
      has_waited_(other.has_waited_),
      across_processes_(std::move(other.across_processes_)) {}

ResourceLocks::Lock& ResourceLocks::Lock::operator=(Lock&& other) noexcept {
  if (this != &other) {
    Release();
    state_ = std::exchange(other.state_, nullptr);
    name_ = std::move(other.name_);
    has_waited_ = other.has_waited_;
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

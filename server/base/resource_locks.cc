#include "server/base/resource_locks.h"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy {
namespace {

// A caller that goes away is noticed within this time; nothing wakes a waiter for it.
constexpr absl::Duration kCancellationPoll = absl::Milliseconds(20);

}  // namespace

struct ResourceLocks::State {
  struct Waiter {
    std::condition_variable granted_changed;
    bool granted = false;
  };
  // A held name; who waits for it, first come first.
  struct Entry {
    std::list<Waiter*> waiters;
  };

  mutable std::mutex mutex;
  absl::flat_hash_map<std::string, Entry> held;  // guarded by mutex

  // Hands the name to the next in line, or forgets it. Needs the mutex.
  void Pass(const std::string& name) {
    const auto entry = held.find(name);
    if (entry->second.waiters.empty()) {
      held.erase(entry);
      return;
    }
    Waiter* const next = entry->second.waiters.front();
    entry->second.waiters.pop_front();
    next->granted = true;
    next->granted_changed.notify_one();
  }
};

ResourceLocks::ResourceLocks(std::unique_ptr<ProcessLocks> processes)
    : state_(std::make_unique<State>()), processes_(std::move(processes)) {}
ResourceLocks::~ResourceLocks() = default;

absl::StatusOr<ResourceLocks::Lock> ResourceLocks::Acquire(const CallContext& context,
                                                           absl::string_view name) {
  absl::StatusOr<Lock> lock = AcquireHere(context, name);
  if (!lock.ok() || processes_ == nullptr) return lock;
  absl::StatusOr<std::unique_ptr<ProcessLocks::Held>> held = processes_->Acquire(context, name);
  if (!held.ok()) return held.status();
  lock->across_processes_ = *std::move(held);
  return lock;
}

absl::StatusOr<ResourceLocks::Lock> ResourceLocks::AcquireHere(const CallContext& context,
                                                               absl::string_view name) {
  std::string key(name);
  std::unique_lock lock(state_->mutex);
  const auto [entry, is_free] = state_->held.try_emplace(key);
  if (is_free) return Lock(state_.get(), std::move(key));

  State::Waiter waiter;
  entry->second.waiters.push_back(&waiter);
  absl::Status status = context.Check();
  while (!waiter.granted && status.ok()) {
    const absl::Duration left = std::min(context.deadline() - absl::Now(), kCancellationPoll);
    waiter.granted_changed.wait_for(lock, absl::ToChronoMicroseconds(left));
    if (!waiter.granted) status = context.Check();
  }
  if (waiter.granted) return Lock(state_.get(), std::move(key));
  state_->held[key].waiters.remove(&waiter);
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), " while another call holds ", name));
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
  std::lock_guard lock(state_->mutex);
  state_->Pass(name_);
  state_ = nullptr;
}

}  // namespace csi_proxy

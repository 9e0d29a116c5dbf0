// One lock per named resource, so that two calls never change one disk, volume, share or target
// at the same time while calls on different ones do not wait for each other.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/base/process_locks.h"

namespace csi_proxy {

// Thread-safe. Fair: waiters get a lock in the order they asked. Holds memory only for names that
// somebody holds or waits for.
class ResourceLocks {
 public:
  // Held while it lives; move-only. Must not outlive the ResourceLocks, and is let go by the thread
  // that acquired it.
  class Lock;

  // With `processes`, a lock excludes the other processes of the node that use the same; those are
  // not served in order.
  explicit ResourceLocks(std::unique_ptr<ProcessLocks> processes = nullptr);
  ~ResourceLocks();
  ResourceLocks(const ResourceLocks&) = delete;
  ResourceLocks& operator=(const ResourceLocks&) = delete;

  // Waits until `name` (by convention `kind/identity`, as `disk/3`) is free and takes it. CANCELLED
  // or DEADLINE_EXCEEDED when the call ends first; then nothing is held. Not recursive. A caller
  // that needs two takes them in the order of their names.
  absl::StatusOr<Lock> Acquire(const CallContext& context, absl::string_view name);

  // The number of names that are held or waited for.
  size_t size() const;

 private:
  struct State;
  // Among the threads of this process.
  absl::StatusOr<Lock> AcquireHere(const CallContext& context, absl::string_view name);

  std::unique_ptr<State> state_;
  const std::unique_ptr<ProcessLocks> processes_;
};

class ResourceLocks::Lock {
 public:
  Lock(Lock&& other) noexcept;
  Lock& operator=(Lock&& other) noexcept;
  ~Lock();

 private:
  friend class ResourceLocks;
  Lock(State* state, std::string name);
  void Release();
  State* state_;
  std::string name_;
  std::unique_ptr<ProcessLocks::Held> across_processes_;
};

}  // namespace csi_proxy

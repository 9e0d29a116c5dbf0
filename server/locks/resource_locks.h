// A lock per named resource: calls on one disk, volume, share or target exclude each other, calls
// on different ones do not.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/locks/process_locks.h"

namespace csi_proxy {

// Thread-safe. The tenants that wait for a name take turns, and the calls of a tenant are served in
// order of arrival. So a tenant's first waiting call waits for the holder and for at most one call
// of each other tenant. Uses memory only for names that are held or waited for.
class ResourceLocks {
 public:
  // Releases the name on destruction. Movable. REQUIRES: the ResourceLocks outlives the Lock, and
  // the thread that acquired the Lock destroys it.
  class Lock;

  // With `processes`, a lock also excludes the node's other processes that use the same
  // ProcessLocks; processes are not served in order.
  explicit ResourceLocks(std::unique_ptr<ProcessLocks> processes = nullptr);
  ~ResourceLocks();
  ResourceLocks(const ResourceLocks&) = delete;
  ResourceLocks& operator=(const ResourceLocks&) = delete;

  // Waits until `name` (by convention `kind/identity`, as `disk/3`) is free and locks it. Returns
  // CANCELLED or DEADLINE_EXCEEDED, without the lock, if the call ends first. REQUIRES: the caller
  // does not hold `name`; all callers that hold several names acquire them in the same order.
  absl::StatusOr<Lock> Acquire(const CallContext& context, absl::string_view name);

  // Returns the number of names that are held or waited for.
  size_t size() const;

 private:
  struct State;
  // Acquires `name` among the threads of this process.
  absl::StatusOr<Lock> AcquireInProcess(const CallContext& context, absl::string_view name);

  std::unique_ptr<State> state_;
  const std::unique_ptr<ProcessLocks> processes_;
};

class ResourceLocks::Lock {
 public:
  Lock(Lock&& other) noexcept;
  Lock& operator=(Lock&& other) noexcept;
  ~Lock();

  // Returns true if this call had to wait for another call of this process to release the name.
  bool has_waited() const { return has_waited_; }

 private:
  friend class ResourceLocks;
  Lock(State* state, std::string name, bool has_waited);
  void Release();
  State* state_;
  std::string name_;
  bool has_waited_;
  std::unique_ptr<ProcessLocks::Held> across_processes_;
};

}  // namespace csi_proxy

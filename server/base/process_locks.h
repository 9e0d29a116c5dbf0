// Locks that the processes of a node share: the service, and drivers that act on the node
// themselves.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy {

// Thread-safe.
class ProcessLocks {
 public:
  // Held while it lives; to be destroyed by the thread that acquired it. A process that dies lets
  // go.
  class Held {
   public:
    virtual ~Held() = default;
  };

  virtual ~ProcessLocks() = default;

  // Waits until no other process holds `name` and takes it. Threads of one process must take turns
  // before (see ResourceLocks). CANCELLED or DEADLINE_EXCEEDED when the call ends first;
  // PERMISSION_DENIED when somebody else owns the lock.
  virtual absl::StatusOr<std::unique_ptr<Held>> Acquire(const CallContext& context,
                                                        absl::string_view name) = 0;
};

// The locks of this node. Windows: named mutexes, which only SYSTEM and administrators may open.
// Elsewhere: locks on files in `directory`, which is made when missing, for its owner alone; the
// files stay. INVALID_ARGUMENT or PERMISSION_DENIED when it cannot be used.
absl::StatusOr<std::unique_ptr<ProcessLocks>> NewProcessLocks(const std::string& directory);

// A short name for a lock, the same in every process and release: what a kernel object or a file
// can be called. Different names may share one; then they take turns.
std::string ProcessLockName(absl::string_view name);

}  // namespace csi_proxy

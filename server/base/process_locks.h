// Locks shared by the processes of a node: the service, and drivers with embedded nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy {

// Thread-safe.
class ProcessLocks {
 public:
  // Held while it lives; to be destroyed by the thread that acquired it. A process that dies
  // releases it.
  class Held {
   public:
    virtual ~Held() = default;
  };

  virtual ~ProcessLocks() = default;

  // Waits until no other process holds `name` and takes it. Threads of one process must take turns
  // before (see ResourceLocks). CANCELLED or DEADLINE_EXCEEDED when the call ends first;
  // PERMISSION_DENIED when another user owns the lock.
  virtual absl::StatusOr<std::unique_ptr<Held>> Acquire(const CallContext& context,
                                                        absl::string_view name) = 0;
};

// The locks of this node. Windows: named mutexes, which only SYSTEM and administrators may open, in
// a private namespace that only they may enter; `warn` is told when there is no such namespace.
// Elsewhere: locks on files in `directory`, which is created when missing, accessible to its owner
// only; the files stay. INVALID_ARGUMENT or PERMISSION_DENIED when it cannot be used.
absl::StatusOr<std::unique_ptr<ProcessLocks>> NewProcessLocks(
    const std::string& directory, const std::function<void(absl::string_view)>& warn = nullptr);

// Windows: locks that are two mutexes each. That in `private_prefix`, the beginning of a name,
// cannot be taken by others; without one, when it is empty, there is only the other, in `Global\`.
//
// Both are held, because a private namespace may go with the process that made it while others
// still use it, and be made anew (learn.microsoft.com/windows/win32/api/winbase/
// nf-winbase-createprivatenamespacea): mutexes of the two would not exclude each other. The one in
// `Global\` always does, but any user can make it first and keep it; then it is done without.
absl::StatusOr<std::unique_ptr<ProcessLocks>> NewNamedMutexes(std::string private_prefix);

// A short name for a lock, usable as the name of a kernel object or a file, and the same in every
// process and release. Two locks with one short name take turns.
inline std::string ProcessLockName(absl::string_view name) {
  // FNV-1a, which never changes, unlike the hash of a hash table.
  uint64_t hash = 14695981039346656037u;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return absl::StrFormat("csi-proxy-%016x", hash);
}

}  // namespace csi_proxy

// Locks between the processes of a node: the service, and drivers with embedded nodes.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/log_function.h"

namespace csi_proxy {

// Thread-safe.
class ProcessLocks {
 public:
  // Releases the lock on destruction. REQUIRES: the thread that acquired the lock destroys the
  // Held. A process that dies releases its locks.
  class Held {
   public:
    virtual ~Held() = default;
  };

  virtual ~ProcessLocks() = default;

  // Waits until no other process holds `name`, then takes the lock. Returns CANCELLED or
  // DEADLINE_EXCEEDED if the call ends first. On Windows without a private namespace returns
  // FAILED_PRECONDITION if another account owns the lock. REQUIRES: no other thread of this process
  // holds `name` (see ResourceLocks).
  virtual absl::StatusOr<std::unique_ptr<Held>> Acquire(const CallContext& context,
                                                        absl::string_view name) = 0;
};

// Returns the locks of this node. On Windows these are NewNamedMutexes() in
// EnterAdministratorsNamespace(). If the process cannot enter it, the locks use no namespace, and
// `warn`, if set, is called except under Wine. On other systems the locks are locks on files in
// `directory`, which is created with mode 0700 if missing; the files stay. Returns
// PERMISSION_DENIED if another user owns `directory` or may write to it.
absl::StatusOr<std::unique_ptr<ProcessLocks>> NewProcessLocks(const std::string& directory,
                                                              const LineFunction& warn = nullptr);

// Returns locks that are two mutexes each, because each mutex has a weakness. Windows only.
// - One is in the private namespace `private_prefix`; there is none if the prefix is empty. Only
//   the accounts of the namespace can open it. But the namespace may disappear with its creator
//   while other processes use it, and be created again
//   (learn.microsoft.com/windows/win32/api/winbase/nf-winbase-createprivatenamespacea). Then
//   mutexes in the old and the new namespace do not exclude each other.
// - One is in `Global\` and excludes every other process. But any user may squat on its name. Then
//   only the mutex in the private namespace is used; if the prefix is empty, Acquire() fails.
absl::StatusOr<std::unique_ptr<ProcessLocks>> NewNamedMutexes(std::string private_prefix);

// Returns a short name for a lock, valid for a kernel object and a file, and equal in every process
// and release. Contains the UUID of version 5 of `name` (rfc-editor.org/rfc/rfc9562#section-5.5).
// Clients choose names, and locks with equal short names exclude each other. So a client must not
// be able to choose a name that gets the short name of another client's lock.
std::string ProcessLockName(absl::string_view name);

}  // namespace csi_proxy

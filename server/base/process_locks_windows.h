#pragma once

#include <memory>
#include <string>

#include "server/base/process_locks.h"

namespace csi_proxy {

// Locks that are two mutexes each. Others cannot take the mutex in `private_prefix`, the beginning
// of a name; when the prefix is empty, there is only the other mutex, in `Global\`.
//
// Both are held, because a private namespace may go with the process that made it while others
// still use it, and be made anew (learn.microsoft.com/windows/win32/api/winbase/
// nf-winbase-createprivatenamespacea): mutexes of the two would not exclude each other. The one in
// `Global\` always does, but any user can make it first and keep it; then it is done without.
absl::StatusOr<std::unique_ptr<ProcessLocks>> NewNamedMutexes(std::string private_prefix);

}  // namespace csi_proxy

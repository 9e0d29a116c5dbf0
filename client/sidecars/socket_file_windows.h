// The files that represent Unix sockets on Windows: reparse points with the tag
// IO_REPARSE_TAG_AF_UNIX, which can only be opened without following them
// (https://github.com/golang/go/issues/33357).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/base/own_file.h"

namespace csi_proxy::sidecars {

// Returns the file of a socket that this process has bound, after limiting access to SYSTEM,
// administrators and this process's user, because connecting requires write access to the file
// (https://devblogs.microsoft.com/commandline/af_unix-comes-to-windows/). REQUIRES: the socket does
// not listen yet, so that no other user can have connected.
absl::StatusOr<OwnFile> ProtectSocket(const std::string& path);

}  // namespace csi_proxy::sidecars

// The files that stand for Unix sockets on Windows: reparse points with a tag of their own
// (IO_REPARSE_TAG_AF_UNIX), which can only be opened without following them
// (https://github.com/golang/go/issues/33357).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/base/own_file.h"

namespace csi_proxy::sidecars {

// Returns the file of a socket that this process has bound, and lets in only SYSTEM, the
// administrators and the user of this process, whatever the directory would let in: to connect one
// must be allowed to write to the file
// (https://devblogs.microsoft.com/commandline/af_unix-comes-to-windows/). Nobody can have connected
// if the socket does not listen yet.
absl::StatusOr<OwnFile> ProtectSocket(const std::string& path);

}  // namespace csi_proxy::sidecars

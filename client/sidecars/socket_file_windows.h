// The files that stand for Unix sockets on Windows: reparse points with a tag of their own
// (IO_REPARSE_TAG_AF_UNIX), which can only be opened without following them
// (https://github.com/golang/go/issues/33357).
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/win32.h"

namespace csi_proxy::sidecars {

// The file of a socket that this process has bound. Destroying it leaves the file.
class SocketFile {
 public:
  // Remembers the file, and lets in only SYSTEM, the administrators and the user of this process,
  // whatever the directory would let in: to connect one must be allowed to write to the file
  // (https://devblogs.microsoft.com/commandline/af_unix-comes-to-windows/). Nobody can have
  // connected if the socket does not listen yet.
  static absl::StatusOr<SocketFile> Protect(std::string path);

  // Tells whether the file at the path is still this one.
  bool in_place() const;

  // Removes the file if it is in place.
  absl::Status Remove() const;

 private:
  SocketFile(std::string path, FILE_ID_INFO id) : path_(std::move(path)), id_(id) {}

  std::string path_;
  FILE_ID_INFO id_;
};

}  // namespace csi_proxy::sidecars

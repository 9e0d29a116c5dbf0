// The directory of the sockets, opened so that nobody can replace it with another one.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/unique_fd.h"

namespace csi_proxy::rpc {

// Not thread-safe.
class SocketDirectory {
 public:
  // Opens (or makes, 0700) and locks the directory. FAILED_PRECONDITION when another process has
  // locked it; PERMISSION_DENIED when it is a symbolic link, belongs to another user or is
  // writable by others.
  static absl::StatusOr<SocketDirectory> Open(const std::string& path);

  // A socket `<directory>/<file_name>`, mode 0600, bound and listening under a temporary name:
  // clients do not see it before Publish(). A stale file of that name does not matter.
  absl::StatusOr<UniqueFd> Bind(const std::string& file_name);

  // Gives a bound socket its name, atomically.
  absl::Status Publish(const std::string& file_name);

  // Removes the socket, published or not. Its absence is not an error.
  void Remove(const std::string& file_name);

  const std::string& path() const { return path_; }

 private:
  SocketDirectory(std::string path, UniqueFd directory, UniqueFd lock)
      : path_(std::move(path)), directory_(std::move(directory)), lock_(std::move(lock)) {}

  std::string path_;
  UniqueFd directory_;
  UniqueFd lock_;
};

}  // namespace csi_proxy::rpc

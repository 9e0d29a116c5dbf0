// The directory of the sockets, opened so that no other process can replace it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/platform/unique_fd.h"

namespace csi_proxy::rpc {

// Not thread-safe.
class SocketDirectory {
 public:
  // Opens (or makes, 0700) and locks the directory. Returns FAILED_PRECONDITION if another process
  // has locked it; PERMISSION_DENIED if its path contains a symbolic link, or the directory belongs
  // to another user or is writable by another user.
  static absl::StatusOr<SocketDirectory> Open(const std::string& path);

  // Returns a socket for `<directory>/<file_name>`, mode 0600. The socket listens under a temporary
  // name, so that clients do not see it before Publish(). First removes a stale temporary file.
  absl::StatusOr<UniqueFd> Bind(const std::string& file_name);

  // Gives a bound socket its name, atomically. REQUIRES: Bind(file_name) succeeded.
  absl::Status Publish(const std::string& file_name);

  // Removes the socket, published or not. Ignores a socket that does not exist.
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

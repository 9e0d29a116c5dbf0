// Files in a directory where other accounts may write too. Make(), RemoveEmptyFile() and
// CheckDirectoriesOf() follow no link. Remove() deletes only the file that this process created,
// RemoveEmptyFile() only an empty file. On POSIX, one that replaces it meanwhile is deleted.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace csi_proxy {

// A file that this process has created. The destructor keeps the file. Thread-compatible.
class OwnFile {
 public:
  // Creates an empty file, on Linux with mode 0600. Creates no directory. Returns ALREADY_EXISTS if
  // the path names anything, a link included, and FAILED_PRECONDITION if a directory of the path is
  // a link; the message names the obstacle.
  static absl::StatusOr<OwnFile> Make(const std::string& path);

  // Takes over a file that this process has just created, such as the socket of a bind().
  static absl::StatusOr<OwnFile> Adopt(std::string path);
  // Takes over the file at `path`. The caller has this file open as `opened`, a descriptor or
  // HANDLE, which the caller still owns.
  static absl::StatusOr<OwnFile> Adopt(std::string path, intptr_t opened);

  // Returns true if the path still names this file, and false if another file or no file has the
  // path. Returns an error if the path cannot be checked.
  absl::StatusOr<bool> in_place() const;

  // Removes the file if the path still names this file. Returns OK if another file or no file has
  // the path.
  absl::Status Remove() const;

 private:
  // Identifies a file: its volume, and its number on the volume.
  struct Id {
    uint64_t volume = 0;
    std::array<uint8_t, 16> file = {};
    friend bool operator==(const Id&, const Id&) = default;
  };

  OwnFile(std::string path, Id id) : path_(std::move(path)), id_(id) {}

  std::string path_;
  Id id_;
};

// Removes an empty file that has no other hard link, such as a file that an earlier process created
// with OwnFile::Make(). Returns OK if nothing is at the path, and FAILED_PRECONDITION if anything
// else is there or if a directory of the path is a link.
absl::Status RemoveEmptyFile(const std::string& path);

// Returns FAILED_PRECONDITION if a directory of the path is a link, and NOT_FOUND if a directory
// is missing.
absl::Status CheckDirectoriesOf(const std::string& path);

}  // namespace csi_proxy

// Files that a program makes in a directory where other accounts may write too. A link, a file or a
// directory that another account has put there is not followed, not changed and not removed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace csi_proxy {

// A file that this process has made. Destroying the object leaves the file. Thread-compatible.
class OwnFile {
 public:
  // Makes an empty file; on Linux only the process's user may open it. Returns ALREADY_EXISTS if
  // the path names anything, a link included, and FAILED_PRECONDITION if a directory of the path is
  // a link; the message names the obstacle. Makes no directory.
  static absl::StatusOr<OwnFile> Make(const std::string& path);

  // Remembers the file that this process has just made by other means, such as a socket by bind().
  static absl::StatusOr<OwnFile> Adopt(std::string path);
  // Does the same for a file that is open by this descriptor or HANDLE.
  static absl::StatusOr<OwnFile> Adopt(std::string path, intptr_t opened);

  // Returns true if the path still names this file.
  bool in_place() const;

  // Removes the file if it is in place. Returns OK, and removes nothing, if it is not.
  absl::Status Remove() const;

 private:
  // A volume, and the number of a file on it.
  struct Id {
    uint64_t volume = 0;
    std::array<uint8_t, 16> file = {};
    friend bool operator==(const Id&, const Id&) = default;
  };

  OwnFile(std::string path, Id id) : path_(std::move(path)), id_(id) {}

  std::string path_;
  Id id_;
};

// Removes an empty file that has no second name, such as OwnFile::Make() of an earlier process has
// left. Returns OK if the path names nothing, and FAILED_PRECONDITION if it names anything else or
// a directory of the path is a link.
absl::Status RemoveEmptyFile(const std::string& path);

// Returns FAILED_PRECONDITION if a directory of the path is a link, and NOT_FOUND if one is
// missing.
absl::Status CheckDirectoriesOf(const std::string& path);

}  // namespace csi_proxy

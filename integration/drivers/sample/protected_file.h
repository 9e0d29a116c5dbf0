// Files of secrets, which nobody but their owner may read or replace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/secret.h"

namespace csi_proxy::sample_driver {

inline constexpr size_t kMaxProtectedFileBytes = 256 * 1024;

// The facts that fstat() tells.
struct FileFacts {
  bool regular = false;
  uint32_t owner = 0;
  uint32_t mode = 0;  // the permission bits
  uint64_t size = 0;
};

// OK for a regular file of root or of user `self` that has no permissions for anybody else.
// FAILED_PRECONDITION and what is wrong with it, without its name.
absl::Status CheckProtected(const FileFacts& facts, uint32_t self);

// OK if `name` names a file in a directory, and nothing else: letters, digits, `-`, `_` and `.`,
// not `.` in front.
absl::Status CheckPlainFileName(absl::string_view name);

// Reads the file `name` of `directory`. Follows no link, neither to the file nor to the directory,
// which must be root's or this user's and writable for nobody else. `name` must pass
// CheckPlainFileName(). NOT_FOUND; FAILED_PRECONDITION. Statuses begin with `file ` or with
// `directory_field`.
absl::StatusOr<Secret> ReadProtectedFile(absl::string_view directory_field,
                                         const std::string& directory, const std::string& name);

}  // namespace csi_proxy::sample_driver

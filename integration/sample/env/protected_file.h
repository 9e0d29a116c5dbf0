// Files of secrets that only their owner can read or replace.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/secret.h"

namespace csi_proxy::sample {

inline constexpr size_t kMaxProtectedFileBytes = 256 * 1024;

// Returns OK if `name` is a plain file name: letters, digits, `-`, `_` and `.`, without a `.` in
// front.
absl::Status CheckPlainFileName(absl::string_view name);

// Reads the file `name` of `directory`. Follows no link to the file or the directory. The directory
// must belong to root or this user and be writable only for its owner. Returns NOT_FOUND if there
// is no file, FAILED_PRECONDITION if it is not protected. Errors begin with `file ` or
// `directory_field`. REQUIRES: CheckPlainFileName(name) is OK.
absl::StatusOr<Secret> ReadProtectedFile(absl::string_view directory_field,
                                         const std::string& directory, const std::string& name);

}  // namespace csi_proxy::sample

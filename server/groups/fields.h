// Checks the fields of requests, and converts the sizes of Windows to fields of answers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/names/windows_path.h"

namespace csi_proxy::groups {

// Returns each working directory as a ConfinedPath.
std::vector<ConfinedPath> AllRoots(const std::shared_ptr<const PathRoots>& roots);

// Returns `status`, with the field's name in front if it is a refusal (FAILED_PRECONDITION).
absl::Status AboutField(absl::string_view field, const absl::Status& status);

// Returns INVALID_ARGUMENT, naming `field`, if the text is empty and must not be, is longer than
// `max_bytes`, or contains control characters. Never repeats the text.
absl::Status CheckText(absl::string_view field, absl::string_view text, size_t max_bytes,
                       bool may_be_empty = false);

// Returns a size as a field of an answer. Returns INTERNAL, naming `what`, if it exceeds 2^63 - 1
// bytes, because no disk or file system is that large.
absl::StatusOr<int64_t> SignedBytes(absl::string_view what, uint64_t bytes);

}  // namespace csi_proxy::groups

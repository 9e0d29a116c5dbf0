// Reads paths from requests, for handlers.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/windows_path.h"

namespace csi_proxy::groups {

// A path within the working directories. INVALID_ARGUMENT when it is malformed, PERMISSION_DENIED
// when it lies outside.
absl::StatusOr<ConfinedPath> ParseConfinedPath(const std::shared_ptr<const PathRoots>& roots,
                                               absl::string_view field, absl::string_view text);

// As ParseConfinedPath, in any spelling drivers send: see WindowsPath::ParseLenient. A path without
// a drive is on the drive of the working directory that holds it.
absl::StatusOr<ConfinedPath> ParseConfinedPathLeniently(
    const std::shared_ptr<const PathRoots>& roots, absl::string_view field, absl::string_view text);

// As ParseConfinedPath, but below a working directory: those themselves are not for calls to
// remove, replace or mount over.
absl::StatusOr<ConfinedPath> ParseConfinedPathBelow(const std::shared_ptr<const PathRoots>& roots,
                                                    absl::string_view field,
                                                    absl::string_view text);

// Both: below a working directory, in any spelling.
absl::StatusOr<ConfinedPath> ParseConfinedPathBelowLeniently(
    const std::shared_ptr<const PathRoots>& roots, absl::string_view field, absl::string_view text);

// The working directories themselves.
std::vector<ConfinedPath> AllRoots(const std::shared_ptr<const PathRoots>& roots);

// Returns a refusal (FAILED_PRECONDITION) with the name of the field that it is about, and any
// other status unchanged.
absl::Status AboutField(absl::string_view field, const absl::Status& status);

// INVALID_ARGUMENT, naming `field`, for text that is empty (unless it may be), longer than
// `max_bytes`, or holds control characters. Never repeats the text.
absl::Status CheckText(absl::string_view field, absl::string_view text, size_t max_bytes,
                       bool may_be_empty = false);

}  // namespace csi_proxy::groups

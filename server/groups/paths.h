// Parses the paths of requests for handlers.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/windows_path.h"

namespace csi_proxy::groups {

// Parses a path within the working directories. Returns INVALID_ARGUMENT if it is malformed,
// PERMISSION_DENIED if it lies outside.
absl::StatusOr<ConfinedPath> ParseConfinedPath(const std::shared_ptr<const PathRoots>& roots,
                                               absl::string_view field, absl::string_view text);

// Parses a path likewise, in any spelling that drivers send; see WindowsPath::ParseLenient(). A
// path without a drive is on the drive of the working directory that contains it.
absl::StatusOr<ConfinedPath> ParseConfinedPathLeniently(
    const std::shared_ptr<const PathRoots>& roots, absl::string_view field, absl::string_view text);

// Parses a path strictly below a working directory: calls must not remove, replace or mount over a
// working directory itself.
absl::StatusOr<ConfinedPath> ParseConfinedPathBelow(const std::shared_ptr<const PathRoots>& roots,
                                                    absl::string_view field,
                                                    absl::string_view text);

// Parses a path strictly below a working directory, in any spelling that drivers send.
absl::StatusOr<ConfinedPath> ParseConfinedPathBelowLeniently(
    const std::shared_ptr<const PathRoots>& roots, absl::string_view field, absl::string_view text);

// Returns the working directories themselves.
std::vector<ConfinedPath> AllRoots(const std::shared_ptr<const PathRoots>& roots);

// Prefixes a refusal (FAILED_PRECONDITION) with the name of the field; returns any other status
// unchanged.
absl::Status AboutField(absl::string_view field, const absl::Status& status);

// Returns INVALID_ARGUMENT, naming `field`, if the text is empty and must not be, is longer than
// `max_bytes`, or contains control characters. Never repeats the text.
absl::Status CheckText(absl::string_view field, absl::string_view text, size_t max_bytes,
                       bool may_be_empty = false);

}  // namespace csi_proxy::groups

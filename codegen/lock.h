// The lock of the released versions: a fingerprint of each version's wire and JSON forms, so that a
// change of a released version is noticed. Comments, options for other languages and the order of
// declarations do not count.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/files.h"

namespace csi_proxy::api {

// Subjects and their values, such as `field DiskIDs.1` and `string page83, json page83`.
using Facts = std::map<std::string, std::string>;

// The fingerprint of each `<group>/<version>`.
using Lock = std::map<std::string, std::string>;

// Return the facts of a parsed file, and the fingerprints of all versions of all groups.
Facts FactsOf(const pb::FileDescriptor& file);
Lock LockOf(const Files& files);

// Convert to and from text: a line `disk/v1 0123456789abcdef` per version. Parsing returns
// INVALID_ARGUMENT, with the line, for a malformed or repeated line.
std::string FormatLock(const Lock& lock);
absl::StatusOr<Lock> ParseLock(absl::string_view text);

// Returns a line for each version that was changed or removed, or is not locked.
std::vector<std::string> Differences(const Lock& locked, const Lock& current);

// Returns `locked` with new versions added. Returns FAILED_PRECONDITION with the differences if a
// locked version was changed or removed, because a released version must stay as it is.
absl::StatusOr<Lock> AddVersions(const Lock& locked, const Lock& current);

}  // namespace csi_proxy::api

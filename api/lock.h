// The lock of the released versions: all that clients can see of them on the wire or in JSON, one
// fact a line, so that a change of a released version is noticed. Comments, options for other
// languages and the order of declarations are left out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/files.h"

namespace csi_proxy::api {

// Subjects and their values, such as `field DiskIDs.1` and `string page83, json page83`.
using Facts = std::map<std::string, std::string>;

// The facts of each `<group>/<version>`.
using Lock = std::map<std::string, Facts>;

// Return the facts of a parsed file, and of all versions of all groups.
Facts FactsOf(const pb::FileDescriptor& file);
Lock LockOf(const Files& files);

// Convert to and from text: a section `[disk/v1]` per version, a line `key = value` per fact.
// Parsing returns INVALID_ARGUMENT, with the line, for a malformed or repeated line.
std::string FormatLock(const Lock& lock);
absl::StatusOr<Lock> ParseLock(absl::string_view text);

// Returns a line for each fact that was changed, removed or added, and for each version that is not
// locked. Empty if the locks are equal.
std::vector<std::string> Differences(const Lock& locked, const Lock& current);

// Returns `locked` with new versions added. Returns FAILED_PRECONDITION with the differences if a
// locked version has changed, because released versions must not.
absl::StatusOr<Lock> AddVersions(const Lock& locked, const Lock& current);

}  // namespace csi_proxy::api

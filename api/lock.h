// The lock of the released versions: what of each of them a client can see on the wire or in the
// JSON form, one fact a line, so that a version which changes is noticed and the difference reads
// well. Comments, options of other languages and the order of declarations are not in it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/files.h"

namespace csi_proxy::api {

// The subject of each fact and its value: `field DiskIDs.1` to `string page83, json page83`.
using Facts = std::map<std::string, std::string>;

// By `<group>/<version>`.
using Lock = std::map<std::string, Facts>;

// The facts of a parsed file, or of all versions of all groups.
Facts FactsOf(const pb::FileDescriptor& file);
Lock LockOf(const Files& files);

// The text form: a section `[disk/v1]` for each version, a line `key = value` for each fact.
// Parsing fails with the line that is no such thing, or that says a thing twice.
std::string FormatLock(const Lock& lock);
absl::StatusOr<Lock> ParseLock(absl::string_view text);

// How `current` departs from `locked`, a line for each fact and version: changed, removed, added,
// and versions that are not locked yet. Empty when both agree.
std::vector<std::string> Differences(const Lock& locked, const Lock& current);

// `locked` with the versions it lacked. FAILED_PRECONDITION, with the differences, if a version
// that is locked already has changed: what is released stays.
absl::StatusOr<Lock> AddVersions(const Lock& locked, const Lock& current);

}  // namespace csi_proxy::api

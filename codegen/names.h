// Turns names of one language into names of another.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace csi_proxy::codegen {

// Two names with the same normalised form mean the same: `diskID`, `disk_id` and `DiskId` are one.
std::string NormalisedName(absl::string_view name);

// `ONE_WAY_CHAP` -> `kOneWayChap`
std::string EnumeratorName(absl::string_view name);

// Tells whether C++ reserves the word, so that no field can be called so.
bool IsCppKeyword(absl::string_view name);

}  // namespace csi_proxy::codegen

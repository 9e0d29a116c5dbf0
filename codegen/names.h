// Converts names between languages.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace csi_proxy::codegen {

// Returns a key that is equal for equivalent names: `diskID`, `disk_id` and `DiskId`.
std::string NormalisedName(absl::string_view name);

// Returns `kOneWayChap` for `ONE_WAY_CHAP`.
std::string EnumeratorName(absl::string_view name);

// Returns true if C++ reserves the word, so that no field can have the name.
bool IsCppKeyword(absl::string_view name);

}  // namespace csi_proxy::codegen

// The id of a volume, `\\?\Volume{guid}\`.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy {

// A valid volume id in the spelling that FindFirstVolumeW returns: lower-case digits and a trailing
// backslash. Ids are equal if their GUIDs are.
class VolumeId {
 public:
  // Parses an id in any case, with or without the trailing backslash. Returns INVALID_ARGUMENT for
  // any other text, so that a parsed id is safe in an API call or a query.
  static absl::StatusOr<VolumeId> Parse(absl::string_view text);

  // Returns `\\?\Volume{guid}\`.
  std::string ToString() const;
  // Returns the 36 characters between the braces.
  absl::string_view guid() const { return {guid_.data(), guid_.size()}; }

  friend bool operator==(const VolumeId&, const VolumeId&) = default;
  friend auto operator<=>(const VolumeId&, const VolumeId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const VolumeId& id) {
    // Half of the digits tells ids apart as well as all of them, and costs less to hash.
    uint64_t first, last;
    std::memcpy(&first, id.guid_.data(), sizeof first);
    std::memcpy(&last, id.guid_.data() + id.guid_.size() - sizeof last, sizeof last);
    return H::combine(std::move(h), first, last);
  }

 private:
  VolumeId() = default;
  // An array, not a string, because every call copies ids, and copies must not allocate.
  std::array<char, 36> guid_ = {};
};

}  // namespace csi_proxy

// The id of a volume as Windows names it: `\\?\Volume{guid}\`.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy {

// A well-formed volume id in its one canonical spelling: lower-case hexadecimal, with the trailing
// backslash, as FindFirstVolumeW returns it. Comparable; two ids are equal when the GUIDs are.
class VolumeId {
 public:
  // Accepts any case and a missing trailing backslash. INVALID_ARGUMENT, naming the rule, for
  // anything else, so that an id can be pasted into an API call or a query without further care.
  static absl::StatusOr<VolumeId> Parse(absl::string_view text);

  // `\\?\Volume{guid}\`
  std::string ToString() const;
  // The 36 characters between the braces.
  absl::string_view guid() const { return {guid_.data(), guid_.size()}; }

  friend bool operator==(const VolumeId&, const VolumeId&) = default;
  friend auto operator<=>(const VolumeId&, const VolumeId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const VolumeId& id) {
    // Half of the digits tell ids apart as well as all of them.
    uint64_t first, last;
    std::memcpy(&first, id.guid_.data(), sizeof first);
    std::memcpy(&last, id.guid_.data() + id.guid_.size() - sizeof last, sizeof last);
    return H::combine(std::move(h), first, last);
  }

 private:
  VolumeId() = default;
  // Without memory of its own: ids are copied and compared with every call.
  std::array<char, 36> guid_ = {};
};

}  // namespace csi_proxy

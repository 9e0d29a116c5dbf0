// The id of a volume as Windows names it: `\\?\Volume{guid}\`.
#pragma once

#include <string>

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
  const std::string& ToString() const { return text_; }
  // The 36 characters between the braces.
  absl::string_view guid() const { return absl::string_view(text_).substr(11, 36); }

  friend bool operator==(const VolumeId&, const VolumeId&) = default;
  friend auto operator<=>(const VolumeId&, const VolumeId&) = default;

 private:
  explicit VolumeId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace csi_proxy

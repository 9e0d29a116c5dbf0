// Names for WMI's numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/machine/cim/value.h"

namespace csi_proxy::host {

// The name of a property's number in a list that begins with 0. A number beyond the list is newer
// than Microsoft's page and is shown as a number. Empty when the property is empty.
template <size_t kSize>
std::string NameOf(const cim::Object& object, const char* property,
                   const char* const (&names)[kSize]) {
  const absl::StatusOr<uint32_t> number = object.GetUint32(property);
  if (!number.ok()) return "";
  return *number < kSize ? names[*number] : absl::StrCat(*number);
}

}  // namespace csi_proxy::host

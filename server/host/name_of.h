// Names of what WMI tells by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/machine/cim/value.h"

namespace csi_proxy::host {

// What a property's number stands for in a list that begins with 0. One that is not in the list is
// shown as its number: it is newer than Microsoft's page. Empty when the property says nothing.
template <size_t kSize>
std::string NameOf(const cim::Object& object, const char* property,
                   const char* const (&names)[kSize]) {
  const absl::StatusOr<uint32_t> number = object.GetUint32(property);
  if (!number.ok()) return "";
  return *number < kSize ? names[*number] : absl::StrCat(*number);
}

}  // namespace csi_proxy::host

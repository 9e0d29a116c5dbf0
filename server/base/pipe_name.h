// The name of a released version's pipe: the one place that says so.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace csi_proxy {

// `csi-proxy-volume-v1`
inline std::string PipeName(absl::string_view group, absl::string_view version) {
  return absl::StrCat("csi-proxy-", group, "-", version);
}

}  // namespace csi_proxy

// Writes down, call by call, what clients ask of the double's WMI. The environment variable
// CSI_PROXY_DOUBLE_RECORD names the file, to which one line a call is appended, its columns parted
// by tabs: query, object, method or refused; the class; the query, or the method; the parameters
// that were given, each with the type of its VARIANT; the result. No line has a value, queries
// apart, which hold no secrets. Without the variable nothing is written.
#pragma once

#include <wtypes.h>

#include <string>

#include "absl/strings/string_view.h"

namespace csi_proxy::node_double {

// `VT_I4`, `VT_ARRAY|VT_BSTR`.
std::string VariantTypeName(VARTYPE type);

// Thread-safe.
void RecordCall(absl::string_view kind, absl::string_view class_name, absl::string_view what,
                absl::string_view parameters, absl::string_view result);

}  // namespace csi_proxy::node_double

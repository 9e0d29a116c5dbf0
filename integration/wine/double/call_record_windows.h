// Records the requests of clients to the double's WMI in the file that CSI_PROXY_DOUBLE_RECORD
// names; without that variable, nothing. Appends a line for each call with columns separated by
// tabs: query, object, method or refused; the class; the query or method; the parameters with the
// types of their VARIANTs; the result. Only queries contain values, which are no secrets.
#pragma once

#include <wtypes.h>

#include <string>

#include "absl/strings/string_view.h"

namespace csi_proxy::node_double {

// Returns the type's name, e.g. `VT_I4` or `VT_ARRAY|VT_BSTR`.
std::string VariantTypeName(VARTYPE type);

// Thread-safe.
void RecordCall(absl::string_view kind, absl::string_view class_name, absl::string_view what,
                absl::string_view parameters, absl::string_view result);

}  // namespace csi_proxy::node_double

// The rules by which WMI passes values in VARIANTs. They are written from the documentation, not
// from the product's variant_windows.h, so that neither repeats the other's mistakes.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "integration/wine/node/definition.h"
#include "server/machine/cim/value.h"
#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::node_double {

// Returns the type of a property, with CIM_FLAG_ARRAY for an array.
CIMTYPE CimTypeOf(const Member& member);
// Returns the type of the VARIANTs that hold the property's values.
VARTYPE CarrierOf(const Member& member);

// Converts `value`, which is null or of the type of `member`, to the VARIANT that Get() and Next()
// return (learn.microsoft.com/windows/win32/wmisdk/numbers, .../strings, .../mof-arrays). The class
// of an embedded object is looked up in `space`.
absl::StatusOr<cim::Variant> GiveVariant(const Member& member, const cim::Value& value,
                                         cim::Namespace space);

// Converts a VARIANT to the value that Put() stores. Other types are coerced as Automation does,
// except where the documentation forbids it
// (learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemclassobject-put) and where it is
// silent (unsigned and 64-bit VARIANTs). Returns WBEM_E_TYPE_MISMATCH if the value cannot be
// stored.
absl::StatusOr<cim::Value> TakeVariant(const Member& member, const VARIANT& variant);

}  // namespace csi_proxy::node_double

// The rules by which WMI passes and takes values in VARIANTs. They are written from the
// documentation, apart from the product's variant_windows.h, so that neither believes the other's
// mistakes.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "integration/wine/node/definition.h"
#include "server/machine/cim/value.h"
#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::node_double {

// Returns the type of a property, with CIM_FLAG_ARRAY for an array.
CIMTYPE CimTypeOf(const Member& member);
// The type of the VARIANT that holds its values.
VARTYPE CarrierOf(const Member& member);

// `value`, of the type of `member` or null, as Get() and Next() give it
// (learn.microsoft.com/windows/win32/wmisdk/numbers, .../strings, .../mof-arrays). `space` is where
// the class of an embedded object is found.
absl::StatusOr<cim::Variant> GiveVariant(const Member& member, const cim::Value& value,
                                         cim::Namespace space);

// Returns the value that Put() makes of a VARIANT. One of another type is coerced as Automation
// does, except where the documentation says otherwise
// (learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemclassobject-put) and where it says
// nothing: unsigned and 64-bit VARIANTs, which nobody should count on. WBEM_E_TYPE_MISMATCH.
absl::StatusOr<cim::Value> TakeVariant(const Member& member, const VARIANT& variant);

}  // namespace csi_proxy::node_double

// CIM values as WMI's COM API has them.
//
// A VARIANT does not always have the type one would think: uint16 and uint32 come as VT_I4, so that
// 2^31 and above are negative; 64-bit integers are text; a char16 is a VT_I2
// (learn.microsoft.com/windows/win32/wmisdk/numbers, .../strings). A property is therefore read by
// its CIM type, and written as its CIM type asks.
#pragma once

#include "absl/status/statusor.h"
#include "server/machine/cim/value.h"
#include "server/machine/windows/cim/class_object_windows.h"
#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::cim {

// The value of a property of CIM type `type`, which may have CIM_FLAG_ARRAY. VT_NULL and VT_EMPTY
// are null of that type. An object in place of text is taken for an object, and the other way
// round: WMI declares embedded objects both ways.
absl::StatusOr<Value> ToValue(const VARIANT& variant, CIMTYPE type);

// `value` as a property of CIM type `type` takes it. The error, which does not tell the value, is
// WBEM_E_TYPE_MISMATCH when it is of another kind or out of range, and INVALID_ARGUMENT for text
// with a NUL, where WMI would end it. `spawn` serves embedded objects.
absl::StatusOr<Variant> ToVariant(const Value& value, CIMTYPE type, const Spawn& spawn);

}  // namespace csi_proxy::cim

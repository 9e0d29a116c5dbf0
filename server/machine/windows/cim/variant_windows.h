// Converts between CIM values and the VARIANTs of WMI's COM API.
//
// A VARIANT often has another type than its property. uint16 and uint32 come as VT_I4, and a uint32
// from 2^31 on is then negative. 64-bit integers come as text, and char16 comes as VT_I2
// (learn.microsoft.com/windows/win32/wmisdk/numbers, .../strings). The CIM type therefore decides
// how a property is read and written.
#pragma once

#include "absl/status/statusor.h"
#include "server/machine/cim/value.h"
#include "server/machine/windows/cim/class_object_windows.h"
#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::cim {

// Returns the value of a property of CIM type `type`, possibly with CIM_FLAG_ARRAY. VT_NULL and
// VT_EMPTY are null. Accepts an object in a text property and text in an object property, because
// WMI declares embedded objects both ways.
absl::StatusOr<Value> ToValue(const VARIANT& variant, CIMTYPE type);

// Converts `value` for a property of CIM type `type`. Returns WBEM_E_TYPE_MISMATCH if `value` is of
// another kind or an integer out of range, and INVALID_ARGUMENT for text with a NUL, where WMI
// would end the text. No error contains the value. `spawn` makes embedded objects.
absl::StatusOr<Variant> ToVariant(const Value& value, CIMTYPE type, const Spawn& spawn);

}  // namespace csi_proxy::cim

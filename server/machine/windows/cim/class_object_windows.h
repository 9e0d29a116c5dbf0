// Converts between the product's CIM objects and WMI's COM objects, including errors.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/machine/cim/value.h"
#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::cim {

// Returns an Object with the class, all properties except the system's own, and the relative path;
// if that is missing, the full path or "". A property that cannot be converted becomes an
// unreadable Value.
absl::StatusOr<Object> ToObject(IWbemClassObject* object);

// Returns a new, empty instance of a class.
using Spawn =
    std::function<absl::StatusOr<ComPtr<IWbemClassObject>>(const std::string& class_name)>;

// Puts `properties` into an instance. Returns WBEM_E_INVALID_METHOD_PARAMETERS for an unknown
// property, or an error of ToVariant() or WMI. Errors begin with `what(property): ` and contain no
// value.
absl::Status PutProperties(const Properties& properties, absl::string_view what, const Spawn& spawn,
                           IWbemClassObject* instance);

// Returns the status of a failed call, with the error object that WMI left for this thread
// (GetErrorInfo). REQUIRES: this thread has made no other COM call since the failed one.
absl::Status ComError(HRESULT result, absl::string_view what);

}  // namespace csi_proxy::cim

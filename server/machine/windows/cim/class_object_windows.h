// CIM objects as WMI's COM API has them, errors among them.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/machine/cim/value.h"
#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::cim {

// All properties but the system's own, the class, and the relative path; the full path where there
// is no relative one, no path where there is neither.
absl::StatusOr<Object> ToObject(IWbemClassObject* object);

// A new, empty instance of a class.
using Spawn =
    std::function<absl::StatusOr<ComPtr<IWbemClassObject>>(const std::string& class_name)>;

// Puts `properties` into an instance; errors begin with `what(property): `. No error contains a
// value. WBEM_E_INVALID_METHOD_PARAMETERS when there is no such property, else as ToVariant().
absl::Status PutProperties(const Properties& properties, absl::string_view what, const Spawn& spawn,
                           IWbemClassObject* instance);

// The status of a failed call, with the error object that WMI left for this thread (GetErrorInfo).
// So it must be called at once, on the thread that made the call.
absl::Status ComError(HRESULT result, absl::string_view what);

}  // namespace csi_proxy::cim

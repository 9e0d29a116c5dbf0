// The failures of the double's methods.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::node_double {

// The HRESULT of a status: its own, that of its Win32 code, or the one closest to its code.
HRESULT HresultOf(const absl::Status& status);

// Leaves an error object for the thread, an `__ExtendedStatus` that tells of the failed `operation`
// (`ExecQuery`) on `parameters` (the query), and returns HresultOf()
// (learn.microsoft.com/windows/win32/wmisdk/retrieving-an-error-code).
HRESULT Fail(const absl::Status& status, absl::string_view operation, absl::string_view parameters);

// The same for what goes wrong in the call itself, of which there is no more to say.
HRESULT Fail(HRESULT result, absl::string_view operation, absl::string_view parameters);

}  // namespace csi_proxy::node_double

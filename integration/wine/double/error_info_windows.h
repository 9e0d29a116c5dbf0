#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::node_double {

// Returns the status's own HRESULT, that of its Win32 code, or the closest one to its code.
HRESULT HresultOf(const absl::Status& status);

// Sets the thread's error object, an `__ExtendedStatus` with the failed `operation` ("ExecQuery")
// and its `parameters` (the query), and returns HresultOf(status)
// (learn.microsoft.com/windows/win32/wmisdk/retrieving-an-error-code).
HRESULT Fail(const absl::Status& status, absl::string_view operation, absl::string_view parameters);

// Sets the error object for an invalid call, which has no status, and returns `result`.
HRESULT Fail(HRESULT result, absl::string_view operation, absl::string_view parameters);

}  // namespace csi_proxy::node_double

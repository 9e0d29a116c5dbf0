// SIDs as text, and the tokens of processes. Must not include windows.h, because its macros would
// rename later declarations.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace csi_proxy::win32 {

// Returns a PSID as `S-1-5-32-544`; "" for null.
std::string SidText(void* sid);

// Return the SID of the user of `process`, or of this process, as text. REQUIRES: `process` is open
// for limited queries.
absl::StatusOr<std::string> UserOfProcess(void* process);
absl::StatusOr<std::string> UserOfThisProcess();

// Enables a privilege of this process. Has no effect if the process does not hold it; then the
// calls that need it fail.
void EnablePrivilege(const wchar_t* privilege);

}  // namespace csi_proxy::win32

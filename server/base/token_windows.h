// SIDs as text, and the token of this process: its account and its rights. Without windows.h, whose
// macros would rename later declarations.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace csi_proxy::win32 {

// A PSID as `S-1-5-32-544`; empty for none.
std::string SidText(void* sid);

// The user of a process that is open for limited queries, as text.
absl::StatusOr<std::string> UserOfProcess(void* process);
absl::StatusOr<std::string> UserOfThisProcess();

// Enables a privilege of this process. A missing privilege shows in the calls that need it.
void EnablePrivilege(const wchar_t* privilege);

}  // namespace csi_proxy::win32

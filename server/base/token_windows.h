// SIDs as text, and the token of this process: who it is and what it may do. Without windows.h,
// whose macros would rename what is declared after it.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace csi_proxy::win32 {

// A PSID as `S-1-5-32-544`; empty for none.
std::string SidText(void* sid);

// Of this process, as text.
struct TokenSids {
  std::string user;
  // Who owns what it creates: for an elevated administrator, the group of administrators.
  std::string owner;
};
absl::StatusOr<TokenSids> SidsOfThisProcess();

// Enables a privilege of this process. One that it does not hold shows in the calls that want it.
void EnablePrivilege(const wchar_t* privilege);

}  // namespace csi_proxy::win32

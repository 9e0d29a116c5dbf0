#include "server/platform/token_windows.h"

#include <windows.h>
// The header below must follow windows.h.
#include <sddl.h>

#include <array>

#include "server/base/status_macros.h"
#include "server/platform/win32.h"

namespace csi_proxy::win32 {
namespace {

absl::StatusOr<UniqueHandle> OpenToken(DWORD access, HANDLE process = GetCurrentProcess()) {
  HANDLE token = nullptr;
  if (!OpenProcessToken(process, access, &token)) {
    return LastError("opening the token of a process");
  }
  return UniqueHandle(token);
}

}  // namespace

std::string SidText(void* sid) {
  wchar_t* text = nullptr;
  if (sid == nullptr || !ConvertSidToStringSidW(sid, &text)) return "";
  const UniqueLocal owned(text);
  return Utf8(text);
}

absl::StatusOr<std::string> UserOfProcess(void* process) {
  ABSL_ASSIGN_OR_RETURN(const UniqueHandle token, OpenToken(TOKEN_QUERY, process));
  // Windows writes a TOKEN_USER, which begins with a pointer to the SID, and then the SID.
  alignas(TOKEN_USER) std::array<char, sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE> user;
  DWORD size = user.size();
  if (!GetTokenInformation(token.get(), TokenUser, user.data(), size, &size)) {
    return LastError("reading the token of a process");
  }
  return SidText(reinterpret_cast<const TOKEN_USER*>(user.data())->User.Sid);
}

absl::StatusOr<std::string> UserOfThisProcess() { return UserOfProcess(GetCurrentProcess()); }

void EnablePrivilege(const wchar_t* privilege) {
  const absl::StatusOr<UniqueHandle> token = OpenToken(TOKEN_ADJUST_PRIVILEGES);
  TOKEN_PRIVILEGES wanted{};
  wanted.PrivilegeCount = 1;
  wanted.Privileges[0].Attributes = SE_PRIVILEGE_ENABLED;
  if (!token.ok() || !LookupPrivilegeValueW(nullptr, privilege, &wanted.Privileges[0].Luid)) return;
  AdjustTokenPrivileges(token->get(), FALSE, &wanted, 0, nullptr, nullptr);
}

}  // namespace csi_proxy::win32

#include "server/base/token_windows.h"

#include <windows.h>
// After it.
#include <sddl.h>

#include <array>

#include "server/base/win32.h"

namespace csi_proxy::win32 {
namespace {

absl::StatusOr<UniqueHandle> OpenToken(DWORD access) {
  HANDLE token = nullptr;
  if (!OpenProcessToken(GetCurrentProcess(), access, &token)) {
    return LastError("opening the token of this process");
  }
  return UniqueHandle(token);
}

// What a token says of its user, or of the owner of what it creates: a structure that begins with
// the pointer to a SID.
template <typename Information>
absl::StatusOr<std::string> SidOfToken(HANDLE token, TOKEN_INFORMATION_CLASS about) {
  alignas(Information) std::array<char, sizeof(Information) + SECURITY_MAX_SID_SIZE> information;
  DWORD size = information.size();
  if (!GetTokenInformation(token, about, information.data(), size, &size)) {
    return LastError("reading the token of this process");
  }
  return SidText(*reinterpret_cast<PSID*>(information.data()));
}

}  // namespace

std::string SidText(void* sid) {
  wchar_t* text = nullptr;
  if (sid == nullptr || !ConvertSidToStringSidW(sid, &text)) return "";
  const UniqueLocal owned(text);
  return Utf8(text);
}

absl::StatusOr<TokenSids> SidsOfThisProcess() {
  const absl::StatusOr<UniqueHandle> token = OpenToken(TOKEN_QUERY);
  if (!token.ok()) return token.status();
  absl::StatusOr<std::string> user = SidOfToken<TOKEN_USER>(token->get(), TokenUser);
  if (!user.ok()) return user.status();
  absl::StatusOr<std::string> owner = SidOfToken<TOKEN_OWNER>(token->get(), TokenOwner);
  if (!owner.ok()) return owner.status();
  return TokenSids{.user = *std::move(user), .owner = *std::move(owner)};
}

void EnablePrivilege(const wchar_t* privilege) {
  const absl::StatusOr<UniqueHandle> token = OpenToken(TOKEN_ADJUST_PRIVILEGES);
  TOKEN_PRIVILEGES wanted{};
  wanted.PrivilegeCount = 1;
  wanted.Privileges[0].Attributes = SE_PRIVILEGE_ENABLED;
  if (!token.ok() || !LookupPrivilegeValueW(nullptr, privilege, &wanted.Privileges[0].Luid)) return;
  AdjustTokenPrivileges(token->get(), FALSE, &wanted, 0, nullptr, nullptr);
}

}  // namespace csi_proxy::win32

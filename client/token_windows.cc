#include "client/token_windows.h"

#include <windows.h>
// After windows.h.
#include <sddl.h>

#include <array>

#include "server/base/win32.h"

namespace csi_proxy::client {
namespace {

std::string SidText(PSID sid) {
  wchar_t* text = nullptr;
  if (!ConvertSidToStringSidW(sid, &text)) return "";
  const win32::UniqueLocal owned(text);
  return win32::Utf8(text);
}

// What a token says of its user, or of the owner of what it creates: a structure that begins with
// the pointer to a SID.
template <typename Information>
absl::StatusOr<std::string> SidOfToken(HANDLE token, TOKEN_INFORMATION_CLASS about) {
  alignas(Information) std::array<char, sizeof(Information) + SECURITY_MAX_SID_SIZE> information;
  DWORD size = information.size();
  if (!GetTokenInformation(token, about, information.data(), size, &size)) {
    return win32::LastError("reading the token of this process");
  }
  return SidText(*reinterpret_cast<PSID*>(information.data()));
}

}  // namespace

absl::StatusOr<TokenSids> SidsOfThisProcess() {
  HANDLE token = nullptr;
  if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
    return win32::LastError("opening the token of this process");
  }
  const win32::UniqueHandle owned(token);
  absl::StatusOr<std::string> user = SidOfToken<TOKEN_USER>(token, TokenUser);
  if (!user.ok()) return user.status();
  absl::StatusOr<std::string> owner = SidOfToken<TOKEN_OWNER>(token, TokenOwner);
  if (!owner.ok()) return owner.status();
  return TokenSids{.user = *std::move(user), .owner = *std::move(owner)};
}

}  // namespace csi_proxy::client

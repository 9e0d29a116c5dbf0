#include "client/pipe_owner_windows.h"

#include <windows.h>
// After windows.h.
#include <sddl.h>

#include <array>

#include "server/base/win32.h"
#include "server/pipe/object_security.h"

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

absl::StatusOr<std::vector<std::string>> Own() {
  HANDLE token = nullptr;
  if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
    return win32::LastError("opening the token of this process");
  }
  const win32::UniqueHandle owned(token);
  absl::StatusOr<std::string> user = SidOfToken<TOKEN_USER>(token, TokenUser);
  if (!user.ok()) return user.status();
  absl::StatusOr<std::string> owner = SidOfToken<TOKEN_OWNER>(token, TokenOwner);
  if (!owner.ok()) return owner.status();
  return std::vector<std::string>{*std::move(user), *std::move(owner)};
}

}  // namespace

absl::StatusOr<PipeOwner> WhoseIs(void* handle) {
  const absl::StatusOr<pipe::ObjectSecurity> security = pipe::SecurityOf(handle);
  if (!security.ok()) return security.status();
  absl::StatusOr<std::vector<std::string>> own = Own();
  if (!own.ok()) return own.status();
  return PipeOwner{.owner = security->owner,
                   .owner_is_administrator = pipe::OwnedByAdministrators(*security),
                   .own = *std::move(own)};
}

}  // namespace csi_proxy::client

#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/platform/peer_process.h"
#include "server/platform/token_windows.h"
#include "server/platform/win32.h"

namespace csi_proxy {
namespace {

win32::UniqueHandle Open(int64_t process_id) {
  return win32::UniqueHandle(
      OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, static_cast<DWORD>(process_id)));
}

}  // namespace

Peer PeerOfProcess(int64_t process_id) {
  Peer peer;
  peer.process_id = process_id;
  const win32::UniqueHandle process = Open(process_id);
  if (!process.valid()) return peer;
  std::array<wchar_t, 1024> image;
  DWORD length = static_cast<DWORD>(image.size());
  if (QueryFullProcessImageNameW(process.get(), 0, image.data(), &length)) {
    peer.image_path = win32::Utf8(std::wstring_view(image.data(), length));
  }
  return peer;
}

uint64_t StartOfProcess(int64_t process_id) {
  const win32::UniqueHandle process = Open(process_id);
  FILETIME start, unused;
  if (!process.valid() || !GetProcessTimes(process.get(), &start, &unused, &unused, &unused)) {
    return 0;
  }
  return uint64_t{start.dwHighDateTime} << 32 | start.dwLowDateTime;
}

// Identifies a tenant by its session unless the session is 0, because each container has a session
// of its own. No page promises separate sessions (doubt 55 of server/host/doubts.md), but users
// report them (https://github.com/microsoft/Windows-Containers/issues/254,
// https://github.com/dotnet/runtime/pull/62452). HostProcess containers and the node's own services
// share session 0, so the user and the image identify them.
std::string TenantOf(const Peer& peer) {
  DWORD session = 0;
  if (ProcessIdToSessionId(static_cast<DWORD>(peer.process_id), &session) && session != 0) {
    return absl::StrCat("session ", session);
  }
  const win32::UniqueHandle process = Open(peer.process_id);
  if (!process.valid()) return "";
  return absl::StrCat(win32::UserOfProcess(process.get()).value_or(""), " ", peer.image_path);
}

Peer OwnProcess() { return PeerOfProcess(GetCurrentProcessId()); }

}  // namespace csi_proxy

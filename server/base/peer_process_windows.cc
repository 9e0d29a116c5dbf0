#include <array>
#include <string_view>

#include "server/base/peer_process.h"
#include "server/base/win32.h"

namespace csi_proxy {

Peer PeerOfProcess(int64_t process_id) {
  Peer peer;
  peer.process_id = process_id;
  const win32::UniqueHandle process(
      OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, static_cast<DWORD>(process_id)));
  if (!process.valid()) return peer;
  std::array<wchar_t, 1024> image;
  DWORD length = static_cast<DWORD>(image.size());
  if (QueryFullProcessImageNameW(process.get(), 0, image.data(), &length)) {
    peer.image_path = win32::Utf8(std::wstring_view(image.data(), length));
  }
  return peer;
}

uint64_t StartOfProcess(int64_t process_id) {
  const win32::UniqueHandle process(
      OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, static_cast<DWORD>(process_id)));
  FILETIME start, unused;
  if (!process.valid() || !GetProcessTimes(process.get(), &start, &unused, &unused, &unused)) {
    return 0;
  }
  return uint64_t{start.dwHighDateTime} << 32 | start.dwLowDateTime;
}

Peer OwnProcess() { return PeerOfProcess(GetCurrentProcessId()); }

}  // namespace csi_proxy

#include <unistd.h>

#include <array>

#include "absl/strings/str_cat.h"
#include "server/base/peer_process.h"

namespace csi_proxy {

Peer PeerOfProcess(int64_t process_id) {
  Peer peer;
  peer.process_id = process_id;
  std::array<char, 4096> image;
  const std::string link = absl::StrCat("/proc/", process_id, "/exe");
  const ssize_t length = readlink(link.c_str(), image.data(), image.size());
  if (length > 0) peer.image_path.assign(image.data(), static_cast<size_t>(length));
  return peer;
}

Peer OwnProcess() { return PeerOfProcess(getpid()); }

}  // namespace csi_proxy

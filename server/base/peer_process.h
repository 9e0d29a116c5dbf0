// The marks by which a process is known as a caller.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy {

// The image path stays empty when the process cannot be opened or has ended.
Peer PeerOfProcess(int64_t process_id);

// When it was started, in units of the platform: tells it from an earlier process of the same
// number. 0 when that cannot be told.
uint64_t StartOfProcess(int64_t process_id);

// `driver.exe` of `\\?\Volume{...}\driver.exe`: the path of a container's image names its layers,
// which are others with each restart of a pod.
inline absl::string_view ImageName(absl::string_view image_path) {
  return image_path.substr(image_path.find_last_of("\\/") + 1);
}

// With which other processes it has one share, as a text that only compares: those of its container
// as far as the system tells, or else those of its user and image. Empty when it cannot be told.
std::string TenantOf(const Peer& peer);

// This process, as the caller of its own calls.
Peer OwnProcess();

}  // namespace csi_proxy

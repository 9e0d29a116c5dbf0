// Identifies the process that makes a call.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy {

// Returns the process with its image path, but without its tenant. The image path is empty if the
// process has ended or cannot be opened.
Peer PeerOfProcess(int64_t process_id);

// Returns the start time of a process in units of the platform, to tell it from an earlier process
// with the same id. Returns 0 when unknown.
uint64_t StartOfProcess(int64_t process_id);

// Returns the last component of `image_path`. Only this part is stable: in a container, the rest of
// the path names the layers of the container's image, which change whenever the pod restarts.
inline absl::string_view ImageName(absl::string_view image_path) {
  return image_path.substr(image_path.find_last_of("\\/") + 1);
}

// Returns the tenant of a process as an opaque text, only to be compared. The tenant is the
// process's container where the system identifies one, else its user and image. Returns "" when
// unknown.
std::string TenantOf(const Peer& peer);

// Returns this process, as the caller of its own calls.
Peer OwnProcess();

}  // namespace csi_proxy

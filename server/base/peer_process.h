// A process as the caller it is.
#pragma once

#include <cstdint>

#include "csi_proxy/call_context.h"

namespace csi_proxy {

// The image path stays empty when the process may not be asked, or is gone.
Peer PeerOfProcess(int64_t process_id);

// This process, as the calls it makes to itself name their caller.
Peer OwnProcess();

}  // namespace csi_proxy

// A channel carries a version's messages to their server.
#pragma once

#include <google/protobuf/message.h>

#include "absl/status/status.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy::client {

// Thread-safe.
class Channel {
 public:
  virtual ~Channel() = default;

  // Calls `method`, as `/v1.Volume/MountVolume`, and waits. The status is the other side's own,
  // code and text; when the time runs out or the caller cancels, the status of
  // CallContext::Check(). A request is sent at most once. `response` is written only when OK is
  // returned.
  virtual absl::Status Call(const char* method, const CallContext& context,
                            const google::protobuf::Message& request,
                            google::protobuf::Message* response) = 0;
};

}  // namespace csi_proxy::client

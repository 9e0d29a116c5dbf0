// One unary call over a RemoteChannel.
#pragma once

#include <google/protobuf/message.h>

#include "absl/status/status.h"
#include "client/remote_channel.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy::client {

// Calls `method`, as `/v1.Volume/MountVolume`, and waits. The status is the service's own, code and
// text. A request is sent at most once. `response` is written only when OK is returned.
absl::Status CallUnary(RemoteChannel& channel, const char* method, const CallContext& context,
                       const google::protobuf::Message& request,
                       google::protobuf::Message* response);

}  // namespace csi_proxy::client

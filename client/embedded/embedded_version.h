// One released version of a group, as this process can serve it to itself.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy::shim {
class CallLimiter;
}

namespace csi_proxy::client {

// An rpc for callers that have bytes.
struct SerializedMethod {
  const char* path;  // `/v1.Volume/MountVolume`
  // `api` is the version's Api. INVALID_ARGUMENT when `request` is no message of the method's.
  // `response` is written only when OK is returned.
  absl::Status (*call)(void* api, const CallContext& context, absl::string_view request,
                       std::string* response);
};

template <typename Service>
struct EmbeddedVersion {
  const char* name;  // `v1`
  // The version's Api. Owns neither.
  std::shared_ptr<void> (*open)(Service* service, shim::CallLimiter* calls);
  absl::Span<const SerializedMethod> methods;
};

}  // namespace csi_proxy::client

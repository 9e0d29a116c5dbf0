// The faults of a simulated node that strike a call before its handler runs.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy {

// Thread-safe.
class FaultGate {
 public:
  virtual ~FaultGate() = default;
  // Returns OK, possibly after a delay, if the call may go on. `method` names the rpc as the hub
  // does, `volume.FormatVolume`; `fields` returns the texts and numbers of the request.
  virtual absl::Status Pass(const CallContext& context, absl::string_view method,
                            absl::FunctionRef<std::vector<std::string>()> fields) = 0;
};

}  // namespace csi_proxy

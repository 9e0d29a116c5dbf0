// Injects the faults of a simulated node into calls, before their handlers run.
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
  // Returns OK, possibly after a delay, or the error that the call must return. `method` is the
  // hub's name, `volume.FormatVolume`; `fields` returns the texts and numbers of the request.
  virtual absl::Status Pass(const CallContext& context, absl::string_view method,
                            absl::FunctionRef<std::vector<std::string>()> fields) = 0;
};

}  // namespace csi_proxy

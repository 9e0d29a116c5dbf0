#include "integration/service/caller.h"

namespace csi_proxy::integration {

absl::StatusOr<CallFunction> OpenCaller(const Binding& binding, const ClientOptions& options) {
  return binding.open(options);
}

}  // namespace csi_proxy::integration

#include "integration/service/script_run.h"

namespace csi_proxy::integration {

absl::StatusOr<CallFunction> OpenCaller(const Binding& binding, const ClientOptions& options) {
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(options);
  if (!connection.ok()) return connection.status();
  return binding.open(*std::move(connection));
}

}  // namespace csi_proxy::integration

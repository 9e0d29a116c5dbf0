// Makes the calls of the case table: the generated client of the version, or csi-proxyctl. The link
// chooses.
#pragma once

#include "absl/status/statusor.h"
#include "integration/support/bindings.h"

namespace csi_proxy::integration {

absl::StatusOr<CallFunction> OpenCaller(const Binding& binding, const ClientOptions& options);

}  // namespace csi_proxy::integration

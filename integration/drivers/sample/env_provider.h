// The sources of the values of environment variables.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "csi_proxy/call_options.h"
#include "integration/drivers/sample/env_rules.h"
#include "server/base/secret.h"

namespace csi_proxy::sample_driver {

// Thread-safe.
class EnvProvider {
 public:
  virtual ~EnvProvider() = default;

  // The values of all queries, in their order. PERMISSION_DENIED when the pod may not have them,
  // NOT_FOUND when one does not exist. Statuses name no value.
  virtual absl::StatusOr<std::vector<Secret>> Get(const EnvRequest& request,
                                                  const CallOptions& call) = 0;
};

}  // namespace csi_proxy::sample_driver

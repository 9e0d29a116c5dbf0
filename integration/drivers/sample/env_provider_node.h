// Provides facts about the node: its id for CSI, and its serial number by csi-proxy's system group.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "csi_proxy/system/v1alpha1/client.h"
#include "integration/drivers/sample/env_provider.h"

namespace csi_proxy::sample_driver {

// Its keys are `nodeId` and `biosSerialNumber`.
class NodeEnvProvider final : public EnvProvider {
 public:
  NodeEnvProvider(system::v1alpha1::Client system, std::string node_id)
      : system_(std::move(system)), node_id_(std::move(node_id)) {}

  absl::StatusOr<std::vector<Secret>> Get(const EnvRequest& request,
                                          const CallOptions& call) override;

 private:
  const system::v1alpha1::Client system_;
  const std::string node_id_;
};

}  // namespace csi_proxy::sample_driver

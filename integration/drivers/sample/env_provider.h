// The sources of the values of environment variables.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "csi_proxy/call_options.h"
#include "csi_proxy/system/v1alpha1/client.h"
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

// Takes values from protected files; each file names the pods that may have its values.
class FileEnvProvider final : public EnvProvider {
 public:
  // `directory` holds the files, each an env_file.proto message in JSON. If the directory's name is
  // empty, there are no files.
  explicit FileEnvProvider(std::string directory) : directory_(std::move(directory)) {}

  // Reads the file anew each time, so that a value that is taken out of it is gone at once.
  absl::StatusOr<std::vector<Secret>> Get(const EnvRequest& request,
                                          const CallOptions& call) override;

 private:
  const std::string directory_;
};

// Values that name the node: its id for CSI, and its serial number by csi-proxy's system group. The
// keys are `nodeId` and `biosSerialNumber`.
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

// The sources of the values of environment variables.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csi_proxy/call_options.h"
#include "csi_proxy/system/v1alpha1/client.h"
#include "integration/drivers/sample/env_rules.h"
#include "server/base/secret.h"
#include "server/http/host_port.h"

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

struct VaultOptions {
  // Where Vault listens, or its agent: the driver's flags, as they are given. All or none.
  std::string address, token_file, path;
  // Sends the token to a loopback port, on which any process of the node may listen while Vault's
  // agent does not. The client has no other transport, so an address needs it.
  bool allow_loopback = false;
  // The time for an answer.
  absl::Duration timeout = absl::Seconds(5);
};

// Takes values from the KV secrets engine of Vault, version 2. The path of a secret has the pod's
// namespace and service account in it, so that no pod can name another account's secret.
class VaultEnvProvider final : public EnvProvider {
 public:
  // A provider that refuses each request if no option is given. INVALID_ARGUMENT, naming the flag,
  // unless the address is `http://` and the loopback's, because the client has no TLS, and
  // `allow_loopback` is set.
  static absl::StatusOr<std::unique_ptr<VaultEnvProvider>> Create(const VaultOptions& options);

  // Reads the token and the secret anew each time.
  absl::StatusOr<std::vector<Secret>> Get(const EnvRequest& request,
                                          const CallOptions& call) override;

 private:
  VaultEnvProvider(VaultOptions options, HostPort address)
      : options_(std::move(options)), address_(std::move(address)) {}

  const VaultOptions options_;
  const HostPort address_;
};

}  // namespace csi_proxy::sample_driver

// The sources of the values of environment variables.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csi_proxy/call_options.h"
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

// Takes facts of an EC2 instance from its metadata service, by IMDSv2
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html).
// Any pod may have them. The keys are a list: the credentials of the instance's role and its user
// data are not among them.
class ImdsEnvProvider final : public EnvProvider {
 public:
  // INVALID_ARGUMENT, naming the flag, unless `address` is IMDS' own or a loopback's.
  static absl::StatusOr<std::unique_ptr<ImdsEnvProvider>> Create(const std::string& address);

  // Asks for a token, and then for each value.
  absl::StatusOr<std::vector<Secret>> Get(const EnvRequest& request,
                                          const CallOptions& call) override;

 private:
  explicit ImdsEnvProvider(HostPort address) : address_(std::move(address)) {}

  const HostPort address_;
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

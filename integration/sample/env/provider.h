#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csi_proxy/call_options.h"
#include "integration/sample/env/rules.h"
#include "server/base/secret.h"
#include "server/http/host_port.h"

namespace csi_proxy::sample {

// A source of the values of environment variables. Thread-safe.
class EnvProvider {
 public:
  virtual ~EnvProvider() = default;

  // Returns the values of all queries, in order. Returns PERMISSION_DENIED if the pod may not read
  // them, NOT_FOUND if one does not exist. Errors contain no value.
  virtual absl::StatusOr<std::vector<Secret>> Get(const EnvRequest& request,
                                                  const CallOptions& call) = 0;
};

// Reads values from protected files. Each file lists the pods that may read it.
class FileEnvProvider final : public EnvProvider {
 public:
  // `directory` contains the files, each an env::EnvFile in JSON. Empty means no files.
  explicit FileEnvProvider(std::string directory) : directory_(std::move(directory)) {}

  // Reads the file each time, so that removing a value takes effect immediately.
  absl::StatusOr<std::vector<Secret>> Get(const EnvRequest& request,
                                          const CallOptions& call) override;

 private:
  const std::string directory_;
};

// Reads facts about an EC2 instance from its metadata service, by IMDSv2
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html).
// Every pod may read these facts. Only listed keys exist: no pod gets the role's credentials or the
// user data.
class ImdsEnvProvider final : public EnvProvider {
 public:
  // Returns INVALID_ARGUMENT, naming the flag, unless `address` is IMDS' own or a loopback address.
  static absl::StatusOr<std::unique_ptr<ImdsEnvProvider>> Create(const std::string& address);

  // Fetches a token, and then each value.
  absl::StatusOr<std::vector<Secret>> Get(const EnvRequest& request,
                                          const CallOptions& call) override;

 private:
  explicit ImdsEnvProvider(HostPort address) : address_(std::move(address)) {}

  const HostPort address_;
};

struct VaultOptions {
  // The driver's flags for the address of Vault or its agent. REQUIRES: all or none are set.
  std::string address, token_file, path;
  // Allows sending the token to a loopback port, where any process of the node may listen while
  // Vault's agent does not. Required with `address`, because the client has no TLS.
  bool allow_loopback = false;
  // The time limit for an answer.
  absl::Duration timeout = absl::Seconds(5);
};

// Reads values from Vault's KV secrets engine, version 2. The path of a secret contains the pod's
// namespace and service account, so no pod can name another account's secret.
class VaultEnvProvider final : public EnvProvider {
 public:
  // Without options, returns a provider that refuses every request. Returns INVALID_ARGUMENT,
  // naming the flag, unless the address is `http://` on the loopback (the client has no TLS) and
  // `allow_loopback` is set.
  static absl::StatusOr<std::unique_ptr<VaultEnvProvider>> Create(const VaultOptions& options);

  // Reads the token and the secret each time.
  absl::StatusOr<std::vector<Secret>> Get(const EnvRequest& request,
                                          const CallOptions& call) override;

 private:
  VaultEnvProvider(VaultOptions options, HostPort address)
      : options_(std::move(options)), address_(std::move(address)) {}

  const VaultOptions options_;
  const HostPort address_;
};

}  // namespace csi_proxy::sample

#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_options.h"
#include "integration/drivers/sample/env_metrics.h"
#include "integration/drivers/sample/env_provider.h"
#include "server/base/audit.h"

namespace csi_proxy::sample_driver {

// Writes a line to standard error for each call, in the service's form. Calls are never omitted or
// combined, because each may have revealed a secret.
class StderrAuditLog final : public AuditLog {
 public:
  void Record(const AuditRecord& record) override;
};

// The rpc NodeGetEnvVars, an experiment behind --feature-gates=CSIDirectEnvInjection=true. It
// passes bytes instead of messages to gRPC, so that it can record calls with invalid requests and
// wipe the values' bytes.
class EnvService final : public grpc::Service {
 public:
  struct Options {
    // The directory of the provider `file`. Empty disables that provider.
    std::string directory;
    std::string imds_address;
    VaultOptions vault;
  };
  // Creates the providers. Returns INVALID_ARGUMENT, naming the flag, if an option is invalid.
  static absl::StatusOr<std::unique_ptr<EnvService>> Create(const Options& options);

  struct Providers {
    std::unique_ptr<EnvProvider> file, imds, vault;
  };
  EnvService(Providers providers, std::unique_ptr<AuditLog> audit);

  // Handles the rpc without gRPC: returns the bytes of a NodeGetEnvVarsResponse. Always writes one
  // record to the audit log. Thread-safe.
  absl::StatusOr<grpc::ByteBuffer> GetEnvVars(const grpc::ByteBuffer& bytes,
                                              const CallOptions& call);

  // Returns the requests by provider and code, with their durations, in Prometheus' text format.
  HttpAnswer Metrics() const { return metrics_.Text(); }

 private:
  absl::StatusOr<std::vector<Secret>> FindValues(const env::NodeGetEnvVarsRequest& request,
                                                 const CallOptions& call);

  const Providers providers_;
  const std::unique_ptr<AuditLog> audit_;
  EnvMetrics metrics_;
};

// Serializes the response into bytes that are wiped when gRPC releases them. Wipes the values in
// `response`, which must not be used afterwards.
grpc::ByteBuffer SerializeAndWipe(env::NodeGetEnvVarsResponse* response);

}  // namespace csi_proxy::sample_driver

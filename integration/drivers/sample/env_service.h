// NodeGetEnvVars: an experiment, which --feature-gates=CSIDirectEnvInjection=true serves.
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

// One line on standard error for each call, in the form of the service's. None are left out or
// counted together: each may have given a secret away.
class StderrAuditLog final : public AuditLog {
 public:
  void Record(const AuditRecord& record) override;
};

// The rpc for gRPC. It takes and gives bytes, not messages: so it knows of each call, even of one
// that is not a request, and the bytes with the values are its own to wipe.
class EnvService final : public grpc::Service {
 public:
  struct Options {
    // The directory of the provider `file`; empty for none.
    std::string directory;
    std::string imds_address;
    VaultOptions vault;
  };
  // INVALID_ARGUMENT, naming the flag.
  static absl::StatusOr<std::unique_ptr<EnvService>> Create(const Options& options);

  struct Providers {
    std::unique_ptr<EnvProvider> file, imds, vault;
  };
  EnvService(Providers providers, std::unique_ptr<AuditLog> audit);

  // The rpc without gRPC: on success the bytes of a NodeGetEnvVarsResponse. Writes one record to
  // the audit log, whatever comes of it. Thread-safe.
  absl::StatusOr<grpc::ByteBuffer> GetEnvVars(const grpc::ByteBuffer& bytes,
                                              const CallOptions& call);

  // The requests by provider and code, and how long they took, in Prometheus' text format.
  HttpAnswer Metrics() const { return metrics_.Text(); }

 private:
  absl::StatusOr<std::vector<Secret>> FindValues(const env::NodeGetEnvVarsRequest& request,
                                                 const CallOptions& call);

  const Providers providers_;
  const std::unique_ptr<AuditLog> audit_;
  EnvMetrics metrics_;
};

// The response as bytes that are wiped when gRPC lets go of them. Wipes the values of `response`,
// too, which is of no use afterwards.
grpc::ByteBuffer SerializeAndWipe(env::NodeGetEnvVarsResponse* response);

}  // namespace csi_proxy::sample_driver

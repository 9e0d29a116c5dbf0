#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/byte_buffer.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/call_options.h"
#include "integration/sample/env/provider.h"
#include "server/base/audit.h"
#include "server/http/http_server.h"

namespace csi_proxy::sample {

// Writes a line to standard error for each call, in the service's form. Calls are never omitted or
// combined, because each may have revealed a secret.
class StderrAuditLog final : public AuditLog {
 public:
  void Record(const AuditRecord& record) override;
};

// The metrics of NodeGetEnvVars, in the form of the sidecars' (client/sidecars/metrics.h).
// Thread-safe.
class EnvMetrics {
 public:
  EnvMetrics();

  // Counts an answered request. REQUIRES: `provider` comes from ProviderOf(), not from the caller.
  void CountAnswer(absl::string_view provider, absl::StatusCode code, absl::Duration duration);

  // Returns the metrics in Prometheus' text format.
  HttpAnswer Text() const;

 private:
  prometheus::Histogram& Requests(absl::string_view provider, absl::StatusCode code);

  prometheus::Registry registry_;
  prometheus::Family<prometheus::Histogram>& requests_;
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

}  // namespace csi_proxy::sample

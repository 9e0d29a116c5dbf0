// The metrics of NodeGetEnvVars, as the sidecars have theirs (client/sidecars/metrics.h).
#pragma once

#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/http/http_server.h"

namespace csi_proxy::sample_driver {

// Thread-safe.
class EnvMetrics {
 public:
  EnvMetrics();

  // A request that was answered. `provider` is one of ProviderOf()'s, never a text of a caller's.
  void Answered(absl::string_view provider, absl::StatusCode code, absl::Duration duration);

  // In Prometheus' text format.
  HttpAnswer Text() const;

 private:
  prometheus::Histogram& Requests(absl::string_view provider, absl::StatusCode code);

  prometheus::Registry registry_;
  prometheus::Family<prometheus::Histogram>& requests_;
};

}  // namespace csi_proxy::sample_driver

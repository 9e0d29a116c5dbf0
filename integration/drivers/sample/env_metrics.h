#pragma once

#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/http/http_server.h"

namespace csi_proxy::sample_driver {

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

}  // namespace csi_proxy::sample_driver

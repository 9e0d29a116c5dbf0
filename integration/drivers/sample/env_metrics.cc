#include "integration/drivers/sample/env_metrics.h"

#include <prometheus/text_serializer.h>

#include <string>

#include "integration/drivers/sample/env_rules.h"
#include "server/base/released_names.h"

namespace csi_proxy::sample_driver {
namespace {

// From 1 ms, the time of reading a file, to 10 s, the longest that Vault may take. The goal is 0.1
// s.
const prometheus::Histogram::BucketBoundaries& Buckets() {
  static const auto* const buckets = new prometheus::Histogram::BucketBoundaries{
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
  return *buckets;
}

}  // namespace

EnvMetrics::EnvMetrics()
    : requests_(prometheus::BuildHistogram()
                    .Name("csi_env_request_seconds")
                    .Help("Duration of NodeGetEnvVars, by provider and gRPC status code.")
                    .Register(registry_)) {
  // Creates the series at once: Prometheus sees no increase in a series that begins with its first
  // event.
  for (const absl::string_view provider : kProviders) Requests(provider, absl::StatusCode::kOk);
}

void EnvMetrics::CountAnswer(absl::string_view provider, absl::StatusCode code,
                             absl::Duration duration) {
  Requests(provider, code).Observe(absl::ToDoubleSeconds(duration));
}

prometheus::Histogram& EnvMetrics::Requests(absl::string_view provider, absl::StatusCode code) {
  return requests_.Add(
      {{"grpc_status_code", kGoCodes[GoCodeIndex(code)]}, {"provider", std::string(provider)}},
      Buckets());
}

HttpAnswer EnvMetrics::Text() const {
  return {.code = 200,
          .body = prometheus::TextSerializer().Serialize(registry_.Collect()),
          .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace csi_proxy::sample_driver

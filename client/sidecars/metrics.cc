#include "client/sidecars/metrics.h"

#include <prometheus/text_serializer.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/released_names.h"

namespace csi_proxy::sidecars {
namespace {

const prometheus::Histogram::BucketBoundaries& Buckets() {
  static const auto* const buckets = new prometheus::Histogram::BucketBoundaries{
      0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600};
  return *buckets;
}

}  // namespace

Metrics::Metrics(std::string driver_name)
    : driver_name_(std::move(driver_name)),
      operations_(prometheus::BuildHistogram()
                      .Name("csi_sidecar_operations_seconds")
                      .Help("Duration of calls to the driver, by gRPC status code.")
                      .Register(registry_)),
      registered_(prometheus::BuildGauge()
                      .Name("csi_sidecar_registered")
                      .Help("1 once the kubelet has accepted the driver.")
                      .Register(registry_)),
      registrations_(prometheus::BuildCounter()
                         .Name("csi_sidecar_registrations_total")
                         .Help("How often the kubelet has accepted the driver.")
                         .Register(registry_)),
      sockets_remade_(prometheus::BuildCounter()
                          .Name("csi_sidecar_registration_sockets_remade_total")
                          .Help("Registration sockets made again, because they were removed or the "
                                "kubelet did not call them.")
                          .Register(registry_)) {
  prometheus::BuildGauge()
      .Name("process_start_time_seconds")
      .Help("Time at which the sidecars began, in seconds since 1970.")
      .Register(registry_)
      .Add({})
      .Set(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
}

void Metrics::CountCall(absl::string_view method, absl::StatusCode code, absl::Duration duration) {
  operations_
      .Add({{"driver_name", driver_name_},
            {"grpc_status_code", kGoCodes[GoCodeIndex(code)]},
            {"method_name", std::string(method)}},
           Buckets())
      .Observe(absl::ToDoubleSeconds(duration));
}

void Metrics::RecordRegistration(bool accepted) {
  registered_.Add({{"driver_name", driver_name_}}).Set(accepted ? 1 : 0);
  prometheus::Counter& registrations = registrations_.Add({{"driver_name", driver_name_}});
  if (accepted) registrations.Increment();
  // Starts both series at 0, because Prometheus sees no increase in a series that starts at 1.
  SocketsRemade(Remade::kGone);
  SocketsRemade(Remade::kUnanswered);
}

void Metrics::CountRemadeSocket(Remade why) { SocketsRemade(why).Increment(); }

prometheus::Counter& Metrics::SocketsRemade(Remade why) {
  return sockets_remade_.Add(
      {{"driver_name", driver_name_}, {"reason", why == Remade::kGone ? "gone" : "unanswered"}});
}

HttpAnswer Metrics::Text() const {
  return {.code = 200,
          .body = prometheus::TextSerializer().Serialize(registry_.Collect()),
          .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace csi_proxy::sidecars

#include "client/sidecars/metrics.h"

#include <prometheus/text_serializer.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/names/released_names.h"

namespace csi_proxy::sidecars {
namespace {

// Never destroyed, because threads may count until the process ends.
const auto& kBuckets = *new prometheus::Histogram::BucketBoundaries{
    0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600};

}  // namespace

Metrics::Metrics(std::string driver_name) : driver_name_(std::move(driver_name)) {
  observability::AddFamily(registry_, prometheus::BuildGauge(), "process_start_time_seconds",
                           "Time at which the sidecars began, in seconds since 1970.")
      .Add({})
      .Set(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
}

void Metrics::CountCall(absl::string_view method, absl::StatusCode code, absl::Duration duration) {
  operations_
      .Add({{"driver_name", driver_name_},
            {"grpc_status_code", kGoCodes[GoCodeIndex(code)]},
            {"method_name", std::string(method)}},
           kBuckets)
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

// The metrics of csi-lib-utils, with livenessprobe's names
// (https://github.com/kubernetes-csi/csi-lib-utils/blob/v0.25.0/metrics/metrics.go), and our own.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/http/http_server.h"
#include "server/observability/metric_family.h"

namespace csi_proxy::sidecars {

// Why a registration socket was created again: it was missing, or the kubelet did not call it.
enum class Remade { kGone, kUnanswered };

// Thread-safe.
class Metrics {
 public:
  explicit Metrics(std::string driver_name);

  // Records a call to the driver: `method` is /csi.v1.Identity/Probe.
  void CountCall(absl::string_view method, absl::StatusCode code, absl::Duration duration);
  // Records whether the kubelet has accepted the driver.
  void RecordRegistration(bool accepted);
  void CountRemadeSocket(Remade why);

  // Returns the metrics in Prometheus' text format.
  HttpAnswer Text() const;

 private:
  prometheus::Counter& SocketsRemade(Remade why);

  const std::string driver_name_;
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Histogram>& operations_ = observability::AddFamily(
      registry_, prometheus::BuildHistogram(), "csi_sidecar_operations_seconds",
      "Duration of calls to the driver, by gRPC status code.");
  prometheus::Family<prometheus::Gauge>& registered_ =
      observability::AddFamily(registry_, prometheus::BuildGauge(), "csi_sidecar_registered",
                               "1 once the kubelet has accepted the driver.");
  prometheus::Family<prometheus::Counter>& registrations_ = observability::AddFamily(
      registry_, prometheus::BuildCounter(), "csi_sidecar_registrations_total",
      "How often the kubelet has accepted the driver.");
  prometheus::Family<prometheus::Counter>& sockets_remade_ = observability::AddFamily(
      registry_, prometheus::BuildCounter(), "csi_sidecar_registration_sockets_remade_total",
      "Registration sockets made again, because they were removed or the kubelet did not call "
      "them.");
};

}  // namespace csi_proxy::sidecars

// The metrics: the names of csi-lib-utils, which livenessprobe has
// (https://github.com/kubernetes-csi/csi-lib-utils/blob/v0.25.0/metrics/metrics.go), and our own.
#pragma once

#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/http/http_server.h"

namespace csi_proxy::sidecars {

// Thread-safe.
class Metrics {
 public:
  explicit Metrics(std::string driver_name);

  // A call of the driver that has ended: `method` is /csi.v1.Identity/Probe.
  void Called(absl::string_view method, absl::StatusCode code, absl::Duration duration);
  // Tells whether the kubelet has accepted the driver.
  void Registered(bool accepted);

  // In Prometheus' text format.
  HttpAnswer Text() const;

 private:
  const std::string driver_name_;
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Histogram>& operations_;
  prometheus::Family<prometheus::Gauge>& registered_;
};

}  // namespace csi_proxy::sidecars

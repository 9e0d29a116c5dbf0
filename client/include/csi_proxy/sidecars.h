// Does the work of node-driver-registrar and livenessprobe inside a CSI driver: registers the
// driver with the kubelet and serves /healthz. The pod then needs neither sidecar.
//
//   absl::StatusOr<std::unique_ptr<csi_proxy::Sidecars>> sidecars = csi_proxy::Sidecars::Start({
//       .csi_address = "unix:///csi/csi.sock",
//       .registrar = csi_proxy::RegistrarOptions{
//           .kubelet_registration_path = "/var/lib/kubelet/plugins/example.csi.k8s.io/csi.sock",
//           .plugin_registration_path = "/var/lib/kubelet/plugins_registry"},
//       .livenessprobe = csi_proxy::LivenessProbeOptions{}});
//
// The program csi-node-sidecars runs this code beside a driver, with the flags of both sidecars.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/log_function.h"

namespace csi_proxy {

// Registers the driver with the kubelet by the plugin registration service v1
// (https://github.com/kubernetes/kubelet/tree/master/pkg/apis/pluginregistration and the README).
struct RegistrarOptions {
  // The path of the driver's socket on the node. The kubelet connects to this path. Required.
  std::string kubelet_registration_path = {};
  // The kubelet's directory of plugin sockets, as this process sees it. Required. Sidecars creates
  // `<driver name>-reg.sock` in it for its own user; on Windows also for administrators and SYSTEM.
  std::string plugin_registration_path = {};
  // How long the registration socket may take to answer the registrar's own /healthz.
  absl::Duration timeout = absl::Seconds(1);
  // A file that the registrar creates when the kubelet has accepted the driver, and removes at its
  // own start and stop, at a refusal, and before it creates the socket again. If empty, no file.
  std::string marker_file = {};
  // The address of the registrar's own /healthz: `HOST:PORT`, or `:PORT` for all. If empty, it is
  // not served.
  std::string http_endpoint = {};
  // If the kubelet does not call the registration socket within this time, the socket is created
  // again, because a kubelet on Windows sometimes misses a socket
  // (https://github.com/kubernetes-csi/node-driver-registrar/issues/143). Later waits grow to five
  // minutes, or to this time if it is longer. With zero the registrar waits without limit.
  absl::Duration registration_timeout = absl::Seconds(30);
  // If true, the registrar's own /healthz answers 500 until the kubelet has registered the driver.
  bool health_requires_registration = false;
  // Receives log lines about registration. If null, SidecarsOptions.log receives them.
  LogFunction log = nullptr;
};

// Serves /healthz about the driver: 200 if the driver reports that it is ready, otherwise 500.
struct LivenessProbeOptions {
  // `HOST:PORT`, or `:PORT` for all addresses.
  std::string http_endpoint = "0.0.0.0:9808";
  // The time that a probe may take, the connection to the driver included.
  absl::Duration probe_timeout = absl::Seconds(3);
  // The address and the path of the metrics for Prometheus. If the address is empty and
  // `serve_metrics` is true, they are at the address of /healthz.
  std::string metrics_address = {};
  std::string metrics_path = "/metrics";
  bool serve_metrics = true;
  // Receives log lines about probes. If null, SidecarsOptions.log receives them.
  LogFunction log = nullptr;
};

struct SidecarsOptions {
  // The driver's socket as this process sees it: a path, or `unix://` and a path. Required.
  std::string csi_address = {};
  // The driver's name. If empty, Sidecars asks the driver.
  std::string driver_name = {};
  // If Sidecars asks for the name and gets none within this time, it calls `on_failed`.
  absl::Duration connect_timeout = absl::InfiniteDuration();
  // The components that run. At least one of `registrar` and `livenessprobe` must be set.
  std::optional<RegistrarOptions> registrar = std::nullopt;
  std::optional<LivenessProbeOptions> livenessprobe = std::nullopt;
  // If true, a component that cannot listen is started again once a second, and the other component
  // continues. `on_failed` is not called for this failure.
  bool independent = false;
  // Called on a thread of the library when the kubelet refuses the driver, with the kubelet's
  // reason. The kubelet tries again as long as the socket exists. Must return soon, because the
  // kubelet and the destructor wait for it. Must not destroy the Sidecars. May be null.
  std::function<void(const std::string& reason)> on_refused = nullptr;
  // Called on a thread of the library, at most once, when the sidecars cannot continue: the driver
  // did not answer in time or returned no valid name, or listening failed. Must not destroy the
  // Sidecars. May be null.
  std::function<void(const absl::Status& why)> on_failed = nullptr;
  // Receives all other log lines. If null, standard error receives them.
  LogFunction log = nullptr;
};

// Thread-safe.
class Sidecars {
 public:
  // Starts threads that wait for the driver, and returns immediately; the driver may start serving
  // later. INVALID_ARGUMENT naming the option.
  //
  // The library serves /healthz immediately, and answers 500 with the reason until the driver has
  // returned its name. If both components have one address, its /healthz is livenessprobe's, and
  // the registrar's is /healthz/node-driver-registrar.
  static absl::StatusOr<std::unique_ptr<Sidecars>> Start(SidecarsOptions options);

  // Stops. Immediately removes the registration socket if it is still this process's, so that the
  // kubelet deregisters the driver. Then waits for answers: at most a second beyond the larger of
  // `timeout` and `probe_timeout`, or four seconds while the driver has not returned its name.
  virtual ~Sidecars() = default;

  // Returns true if the kubelet has accepted the driver since the registration socket was created.
  virtual bool registered() const = 0;

 protected:
  Sidecars() = default;
};

}  // namespace csi_proxy

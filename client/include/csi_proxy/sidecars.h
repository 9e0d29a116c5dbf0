// Does the work of node-driver-registrar and livenessprobe for a CSI driver on a node: registers it
// with the kubelet, and answers /healthz. From inside the driver, which then needs neither beside
// it:
//
//   absl::StatusOr<std::unique_ptr<csi_proxy::Sidecars>> sidecars = csi_proxy::Sidecars::Start({
//       .csi_address = "unix:///csi/csi.sock",
//       .registrar = csi_proxy::RegistrarOptions{
//           .kubelet_registration_path = "/var/lib/kubelet/plugins/example.csi.k8s.io/csi.sock",
//           .plugin_registration_path = "/var/lib/kubelet/plugins_registry"},
//       .livenessprobe = csi_proxy::LivenessProbeOptions{}});
//
// The program csi-node-sidecars is the same code beside a driver, with the flags of the two.
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

// Registration with the kubelet, as of the plugin registration service v1
// (https://kubernetes.io/docs/reference/node/device-plugin-api-versions/ and the README).
struct RegistrarOptions {
  // The path of the driver's socket on the node, by which the kubelet finds it. Required.
  std::string kubelet_registration_path = {};
  // The kubelet's directory of sockets of plugins, as this process sees it. Required. The socket
  // made there is `<driver name>-reg.sock`, which only the process's user may open.
  std::string plugin_registration_path = {};
  // The time that the driver has to tell its name, and this registrar to answer for its health.
  absl::Duration timeout = absl::Seconds(1);
  // A file made once the kubelet has accepted the driver, and removed when the registrar starts or
  // stops; empty for none.
  std::string marker_file = {};
  // The address of its own /healthz: `HOST:PORT`, or `:PORT` on all addresses; empty for nowhere.
  std::string http_endpoint = {};
  // How long the kubelet may leave the registration socket without a call. Then the socket is made
  // anew, since a kubelet on Windows sometimes misses one
  // (https://github.com/kubernetes-csi/node-driver-registrar/issues/143). The waits that follow get
  // longer, up to five minutes or this if it is longer. Zero: for ever.
  absl::Duration registration_timeout = absl::Seconds(30);
  // The registrar's own /healthz answers 500 as long as the kubelet has not registered the driver.
  bool health_requires_registration = false;
  // Takes the lines about registration. Null: as SidecarsOptions.log.
  LogFunction log = nullptr;
};

// The answers of /healthz about the driver: 200 if it says that it is ready, otherwise 500.
struct LivenessProbeOptions {
  // As above.
  std::string http_endpoint = "0.0.0.0:9808";
  // The time that a probe may take, the connection to the driver included.
  absl::Duration probe_timeout = absl::Seconds(1);
  // The address and the path at which Prometheus finds metrics. If the address is empty and
  // `serve_metrics` is true, they are at the address of /healthz.
  std::string metrics_address = {};
  std::string metrics_path = "/metrics";
  bool serve_metrics = true;
  // Takes the lines about probes. Null: as SidecarsOptions.log.
  LogFunction log = nullptr;
};

struct SidecarsOptions {
  // The driver's socket, as this process sees it: a path, or `unix://` and a path. Required.
  std::string csi_address = {};
  // The driver's name. Empty: the driver is asked, once it answers.
  std::string driver_name = {};
  // The time to wait for the driver at the start.
  absl::Duration connect_timeout = absl::InfiniteDuration();
  // Either may be left out.
  std::optional<RegistrarOptions> registrar = std::nullopt;
  std::optional<LivenessProbeOptions> livenessprobe = std::nullopt;
  // Called, on a thread of the library, when the kubelet refuses the driver, with its reason. It
  // tries again by itself as long as the socket is there. Must return soon: until then the kubelet
  // has no answer, and the destructor waits. Must not destroy the Sidecars. May be null.
  std::function<void(const std::string& reason)> on_refused = nullptr;
  // Called on a thread of the library, at most once, when the sidecars cannot go on: the driver did
  // not come in time, or an address cannot be listened on. Must not destroy the Sidecars. May be
  // null.
  std::function<void(const absl::Status& why)> on_failed = nullptr;
  // Null: standard error.
  LogFunction log = nullptr;
};

// Thread-safe.
class Sidecars {
 public:
  // Returns at once; its threads wait for the driver, so it may be started before the driver
  // serves. INVALID_ARGUMENT naming the option.
  //
  // /healthz is served as soon as the driver has told its name; until then connections are refused,
  // as by livenessprobe. If two components have the same address they share it: /healthz is then
  // the livenessprobe's, and the registrar's is /healthz/node-driver-registrar.
  static absl::StatusOr<std::unique_ptr<Sidecars>> Start(SidecarsOptions options);

  // Stops: the registration socket is removed at once if it is still this process's own, which
  // makes the kubelet deregister the driver. Then waits for the answers under way, as long as a
  // probe may take and a second.
  virtual ~Sidecars() = default;

  // Tells whether the kubelet has accepted the driver, since the registration socket was made.
  virtual bool registered() const = 0;

 protected:
  Sidecars() = default;
};

}  // namespace csi_proxy

// Registers one driver with the kubelet, for as long as it lives.
#pragma once

#include <grpcpp/impl/codegen/service_type.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "client/sidecars/metrics.h"
#include "client/sidecars/socket.h"
#include "csi_proxy/sidecars.h"
#include "server/base/condition.h"
#include "server/base/own_file.h"
#include "server/http/http_server.h"

namespace csi_proxy::sidecars {

// Tells whether the kubelet takes a driver of this name: CSI's rule for GetPluginInfoResponse.name.
// The name becomes part of a file's name.
absl::Status CheckDriverName(absl::string_view name);

// The metadata of a GetInfo by which a registrar checks its own health; the kubelet sends none.
inline constexpr char kHealthMetadata[] = "csi-registration-health";

// The kubelet's plugin registration service, which a plugin serves and the kubelet calls
// (https://github.com/kubernetes/kubernetes/tree/v1.37.2/pkg/kubelet/pluginmanager/pluginwatcher).
class RegistrationService final : public grpc::Service {
 public:
  // The service tells the kubelet the driver's name, and where it finds the driver, and calls
  // `asked` each time. `notify` learns if the kubelet has accepted the driver, and else the reason.
  // Neither may block.
  RegistrationService(std::string driver_name, std::string endpoint, std::function<void()> asked,
                      std::function<void(bool accepted, const std::string& reason)> notify);
};

// Thread-safe.
class Registrar {
 public:
  // Makes the socket, in the place of one that an earlier process has left. `metrics` must outlive
  // the registrar; `on_refused` may be null.
  static absl::StatusOr<std::unique_ptr<Registrar>> Start(
      const std::string& driver_name, RegistrarOptions options, Metrics* metrics,
      std::function<void(const std::string&)> on_refused, LogFunction log);
  ~Registrar() { Withdraw(); }

  // Removes the socket, and the marker: the kubelet forgets the driver.
  void Withdraw();

  bool registered() const;

  // 200 if the socket is there and this registrar answers on it, else 404 or 500, with a reason.
  HttpAnswer Health() const;

 private:
  Registrar(std::string driver_name, RegistrarOptions options, Metrics* metrics,
            std::function<void(const std::string&)> on_refused, LogFunction log);

  // The kubelet has called the socket.
  void Called();
  void Notified(bool accepted, const std::string& reason);
  void SetRegistered(bool registered);
  // Makes or removes the marker file. A driver may write to its directory.
  void Mark(bool registered);
  // Logs the failure, if any: the registration goes on without a marker.
  void WarnOfMarker(const char* what, const absl::Status& status);
  // Makes the socket again whenever it has gone, or the kubelet does not call it.
  void Watch();
  // False when the registrar stops.
  bool Rest(std::chrono::milliseconds time);
  // Tells whether the kubelet has called the socket since it was made.
  bool WasCalled() const;
  absl::Status MakeAgain(Remade why);

  const std::string driver_name_;
  const RegistrarOptions options_;
  Metrics* const metrics_;
  const std::function<void(const std::string&)> on_refused_;
  const LogFunction log_;
  const std::string socket_path_;
  RegistrationService service_;

  // Guards the next three.
  mutable Mutex mutex_;
  bool registered_ = false;
  bool called_ = false;
  bool stopping_ = false;
  Condition stop_;
  Mutex marker_mutex_;  // guards the next
  std::optional<OwnFile> marker_;
  // The watcher's thread alone uses it, once that runs.
  std::unique_ptr<SocketServer> server_;
  std::thread watcher_;
};

}  // namespace csi_proxy::sidecars

// Registers one driver with the kubelet for as long as the object lives.
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
#include "server/http/http_server.h"
#include "server/platform/own_file.h"

namespace csi_proxy::sidecars {

// Returns INVALID_ARGUMENT unless `name` follows CSI's rule for GetPluginInfoResponse.name. The
// name becomes part of a file name.
absl::Status CheckDriverName(absl::string_view name);

// A registrar marks its own GetInfo calls with this metadata. The kubelet does not send it.
inline constexpr char kHealthMetadata[] = "csi-registration-health";

// The plugin registration service. A plugin serves it, and the kubelet calls it
// (https://github.com/kubernetes/kubernetes/tree/v1.37.2/pkg/kubelet/pluginmanager/pluginwatcher).
class RegistrationService final : public grpc::Service {
 public:
  // Returns the driver's name and endpoint to the kubelet, and calls `asked` each time. Calls
  // `notify` with the kubelet's decision and the reason of a refusal. Neither may block.
  RegistrationService(std::string driver_name, std::string endpoint, std::function<void()> asked,
                      std::function<void(bool accepted, const std::string& reason)> notify);
};

// Thread-safe, except that only one thread may call Withdraw().
class Registrar {
 public:
  // Removes the marker and the socket of an earlier process, then creates the socket. `metrics`
  // must outlive the registrar; `on_refused` may be null.
  static absl::StatusOr<std::unique_ptr<Registrar>> Start(
      const std::string& driver_name, RegistrarOptions options, Metrics* metrics,
      std::function<void(const std::string&)> on_refused, LogFunction log);
  ~Registrar() { Withdraw(); }

  // Removes this registrar's socket and marker, so that the kubelet deregisters the driver.
  void Withdraw();

  bool registered() const;

  // Returns 200 if the driver's registrar answers on the socket and `health_requires_registration`
  // is met; otherwise 404 or 500 with the reason.
  HttpAnswer Health() const;

 private:
  Registrar(std::string driver_name, RegistrarOptions options, Metrics* metrics,
            std::function<void(const std::string&)> on_refused, LogFunction log);

  void OnCalled();
  void OnNotified(bool accepted, const std::string& reason);
  void SetRegistered(bool registered);
  // Creates or removes the marker file. The driver may write to the file's directory.
  void Mark(bool registered);
  // Logs a failure, if any. The registration continues without a marker.
  void WarnOfMarker(const char* what, const absl::Status& status);
  // Creates the socket again if it is missing or the kubelet does not call it.
  void Watch();
  // Waits. Returns false if the registrar stops.
  bool WaitFor(std::chrono::milliseconds time);
  // Returns true if the kubelet has called the socket since it was created.
  bool WasCalled() const;
  absl::Status MakeAgain(Remade why);

  const std::string driver_name_;
  const RegistrarOptions options_;
  Metrics* const metrics_;
  const std::function<void(const std::string&)> on_refused_;
  const LogFunction log_;
  const std::string socket_path_;
  RegistrationService service_;

  mutable Mutex mutex_;
  bool registered_ ABSL_GUARDED_BY(mutex_) = false;
  bool called_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Condition stop_;
  Mutex marker_mutex_;
  std::optional<OwnFile> marker_ ABSL_GUARDED_BY(marker_mutex_);
  // Only the watcher's thread uses this between its start and its end.
  std::unique_ptr<SocketServer> server_;
  std::thread watcher_;
};

}  // namespace csi_proxy::sidecars

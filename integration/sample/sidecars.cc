#include "integration/sample/sidecars.h"

#include <boost/program_options/value_semantic.hpp>
#include <utility>

#include "absl/strings/strip.h"

namespace csi_proxy::sample {

namespace po = boost::program_options;

void AddSidecarsFlags(SidecarsFlags* flags, po::options_description* described) {
  described->add_options()(
      "register-with-kubelet", po::value(&flags->plugin_sockets),
      "the kubelet's directory of sockets of plugins: register there, and answer /healthz, without "
      "node-driver-registrar and livenessprobe")(
      "http-endpoint", po::value(&flags->http_endpoint)->default_value("127.0.0.1:9808"),
      "with --register-with-kubelet: where /healthz and metrics are served");
}

absl::StatusOr<std::unique_ptr<Sidecars>> StartSidecars(
    const SidecarsFlags& flags, const std::string& endpoint,
    std::function<void(const absl::Status& why)> on_failed) {
  if (flags.plugin_sockets.empty()) return nullptr;
  return Sidecars::Start(
      {.csi_address = endpoint,
       // The driver does not run in a container, so the kubelet finds its socket at the same path.
       .registrar = RegistrarOptions{.kubelet_registration_path =
                                         std::string(absl::StripPrefix(endpoint, "unix://")),
                                     .plugin_registration_path = flags.plugin_sockets},
       .livenessprobe = LivenessProbeOptions{.http_endpoint = flags.http_endpoint},
       .on_failed = std::move(on_failed)});
}

}  // namespace csi_proxy::sample

#pragma once

#include <boost/program_options/options_description.hpp>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/sidecars.h"

namespace csi_proxy::sample {

struct SidecarsFlags {
  std::string plugin_sockets, http_endpoint;
};

void AddSidecarsFlags(SidecarsFlags* flags, boost::program_options::options_description* described);

// Registers the driver with the kubelet and answers for its health, without sidecar containers.
// Returns null without --register-with-kubelet. `on_failed` is called when the sidecars cannot
// continue.
absl::StatusOr<std::unique_ptr<Sidecars>> StartSidecars(
    const SidecarsFlags& flags, const std::string& endpoint,
    std::function<void(const absl::Status& why)> on_failed);

}  // namespace csi_proxy::sample

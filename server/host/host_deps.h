// The objects that the six hosts share.
#pragma once

#include "absl/status/statusor.h"
#include "csi_proxy/log_function.h"
#include "server/host/detached_runs.h"
#include "server/host/shared_run.h"
#include "server/host/storage_namespace.h"
#include "server/host/used_volumes.h"
#include "server/host/volume_view.h"
#include "server/machine/cim/session.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

// The dependencies of the six hosts. REQUIRES: the objects outlive the hosts.
struct HostDeps {
  cim::Session* wmi = nullptr;
  StorageNamespace* storage = nullptr;
  machine::Os* os = nullptr;
  DetachedRuns* changes = nullptr;
  DetachedRuns* setups = nullptr;  // logins, new mappings, growth
  DetachedRuns* reads = nullptr;
  DetachedRuns* flushes = nullptr;
  UsedVolumes* used = nullptr;
  // The look-ups of all volumes of the node; see VolumesOn().
  SharedRun<absl::StatusOr<NodeVolumes>>* volumes = nullptr;
  // Receives messages for the operator about problems that do not fail a call. Must not be null.
  LineFunction warn;
};

}  // namespace csi_proxy::host

// A node's Windows services. Callers must hold the lock of Core, and must have checked the
// arguments. A start or stop ends at the first AdvanceServices() after its time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulator {

// Returns the service of that name, or null.
Service* FindService(NodeState& state, absl::string_view name);

// Returns true if any service is starting or stopping.
bool AnyServicePending(const NodeState& state);
// Ends the starts and stops that have lasted long enough.
void AdvanceServices(NodeState& state, SteadyTime now);

// Resets all services to their state after boot: stops all, then starts the services that start at
// boot, with their dependencies. A service with a disabled dependency stays stopped.
void RestartServices(NodeState& state, SteadyTime now);

absl::StatusOr<std::vector<std::string>> ListActiveDependents(NodeState& state,
                                                              const std::string& name);
// Starts the service's dependencies first, as Windows does, then the service.
absl::Status RequestStart(NodeState& state, const std::string& name, SteadyTime now);
absl::Status RequestStop(NodeState& state, const std::string& name, SteadyTime now);

}  // namespace csi_proxy::machine::simulator

// A node's Windows services. Nothing here locks, waits or checks a call; a pending state ends when
// it is due and SettleServices() is called.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulated {

// Null when there is none of that name.
Service* FindService(NodeState& state, absl::string_view name);

// Returns whether any service is about to start or stop.
bool AnyServicePending(const NodeState& state);
// Ends the pending states that have lasted long enough.
void SettleServices(NodeState& state, absl::Time now);

// As when the machine has just started: those run, or begin to, that start by themselves, and what
// these depend on.
void RestartServices(NodeState& state, absl::Time now);

absl::StatusOr<std::vector<std::string>> ListActiveDependents(NodeState& state,
                                                              const std::string& name);
// Starts what the service depends on first, as Windows does.
absl::Status RequestStart(NodeState& state, const std::string& name, absl::Time now);
absl::Status RequestStop(NodeState& state, const std::string& name, absl::Time now);

}  // namespace csi_proxy::machine::simulated

// Whether there can be such a node: every rule a scenario must keep, found before the node starts.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/machine/simulated/state.h"

namespace csi_proxy::machine::simulated {

// INVALID_ARGUMENT for the first problem: the field, spelt as in a scenario
// (`disk[2].partition[0].size_bytes`), and the reason. Safe on any values whatever.
absl::Status CheckState(NodeState& state);

// The part of it for one rule of the fault table, called `field`.
absl::Status CheckFault(const FaultRule& rule, const std::string& field);

}  // namespace csi_proxy::machine::simulated

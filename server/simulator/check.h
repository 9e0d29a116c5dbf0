// Checks by every rule for scenarios that such a node can exist, before the node starts.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/simulator/problems.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulated {

// INVALID_ARGUMENT for the first problem: the field, spelt as in a scenario
// (`disk[2].partition[0].size_bytes`), and the reason. Safe for any values.
absl::Status CheckState(NodeState& state);

// The same check for one rule of the fault table; errors call it `field`.
absl::Status CheckFault(const FaultRule& rule, const std::string& field);

// The part of CheckState() about disks and their content.
// All disks, those of iSCSI targets included.
void CheckDisks(NodeState& state, Problems* problems);

// The entries of a share, called `at`.
void CheckShareTree(const Tree& tree, const std::string& at, Problems* problems);

}  // namespace csi_proxy::machine::simulated

// Checks a state by every rule for scenarios before the node starts.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/simulator/problems.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulator {

// Returns INVALID_ARGUMENT for the first problem: the field, spelt as in a scenario
// (`disk[2].partition[0].size_bytes`), and the reason. Safe for any values.
absl::Status CheckState(NodeState& state);

// Checks one rule of the fault table; errors call it `field`.
absl::Status CheckFault(const FaultRule& rule, const std::string& field);

// Checks disks and their content for CheckState(), the disks of iSCSI targets included.
void CheckDisks(NodeState& state, Problems* problems);

// Checks the entries of a share; errors call it `at`.
void CheckShareTree(const Tree& tree, const std::string& at, Problems* problems);

}  // namespace csi_proxy::machine::simulator

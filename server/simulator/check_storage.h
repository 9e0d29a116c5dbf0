// The part of CheckState() that is about disks and what they hold.
#pragma once

#include <string>

#include "server/simulator/problems.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulated {

// All disks, those of iSCSI targets included.
void CheckDisks(NodeState& state, Problems* problems);

// The entries of a share, called `at`.
void CheckShareTree(const Tree& tree, const std::string& at, Problems* problems);

}  // namespace csi_proxy::machine::simulated

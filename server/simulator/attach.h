// Tells where, when and as what a disk appears that the cloud attaches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulated {

// A GUID in braces, as the GPT of a disk has one, that no other disk gets.
std::string MakeDiskId(NodeState& state, const Disk& disk);

// Puts the disk where the cloud puts it, at `place` or at the first free one: fills in the
// placeholders of its texts. ALREADY_EXISTS when another disk is at the place.
absl::Status PutInPlace(NodeState& state, std::optional<uint32_t> place, Disk& disk);

}  // namespace csi_proxy::machine::simulated

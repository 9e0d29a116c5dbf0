// Helpers for the tests of the host. Includes the helpers of simulator/testing.h.
#pragma once

#include <utility>

#include "csi_proxy/call_context.h"
#include "server/node/simulated_host.h"
#include "server/simulator/testing.h"

namespace csi_proxy::host {

using namespace machine::simulator;  // NOLINT: only for tests

// Records whether calls yield their slot.
struct TestSlot final : SlotHolder {
  void Lend() override { yielded = true; }
  // Returns true if the slot has been yielded since the last TakeYielded().
  bool TakeYielded() { return std::exchange(yielded, false); }
  bool yielded = false;
};

}  // namespace csi_proxy::host

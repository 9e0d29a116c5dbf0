// What the tests of the host share: the simulated machine's own helpers, and a host over it.
#pragma once

#include <utility>

#include "csi_proxy/call_context.h"
#include "server/simulator/named_faults.h"
#include "server/simulator/testing.h"

namespace csi_proxy::host {

using namespace machine::simulated;  // NOLINT: for tests alone

// Tells which calls leave their places.
struct TestPlace final : WorkingPlace {
  void Leave() override { left = true; }
  // Whether the place has been left since the last time.
  bool TakeLeft() { return std::exchange(left, false); }
  bool left = false;
};

}  // namespace csi_proxy::host

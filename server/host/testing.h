// Helpers for the tests of the host: those of the simulated machine, and a host over it.
#pragma once

#include <utility>

#include "csi_proxy/call_context.h"
#include "server/simulator/host_over.h"
#include "server/simulator/testing.h"

namespace csi_proxy::host {

using namespace machine::simulated;  // NOLINT: for tests alone

// Tells which calls leave their places.
struct TestPlace final : WorkingPlace {
  void Leave() override { left = true; }
  // True if the place has been left since the last call.
  bool TakeLeft() { return std::exchange(left, false); }
  bool left = false;
};

}  // namespace csi_proxy::host

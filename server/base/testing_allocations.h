// Counts the heap allocations of a test program that is linked with this.
#pragma once

namespace csi_proxy::testing_allocations {

// Those of this thread so far.
int Allocations();

// Those of one call on this thread, once whatever is made only once has been made.
template <typename Function>
int AllocationsOf(const Function& function) {
  for (int i = 0; i < 3; ++i) function();
  const int before = Allocations();
  function();
  return Allocations() - before;
}

}  // namespace csi_proxy::testing_allocations

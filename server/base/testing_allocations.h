// Counts the heap allocations of a test program that is linked with this.
#pragma once

namespace csi_proxy::testing_allocations {

// Those of this thread so far.
int Allocations();

// Counts the allocations of one call on this thread, after everything that is made only once.
template <typename Function>
int AllocationsOf(const Function& function) {
  for (int i = 0; i < 3; ++i) function();
  const int before = Allocations();
  function();
  return Allocations() - before;
}

}  // namespace csi_proxy::testing_allocations

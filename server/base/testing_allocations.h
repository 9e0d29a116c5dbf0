// Counts the heap allocations of a test program that links this file.
#pragma once

namespace csi_proxy::testing_allocations {

// Returns the number of allocations of this thread so far.
int Allocations();

// Returns the allocations of one call on this thread, not counting those made only once.
template <typename Function>
int AllocationsOf(const Function& function) {
  for (int i = 0; i < 3; ++i) function();
  const int before = Allocations();
  function();
  return Allocations() - before;
}

}  // namespace csi_proxy::testing_allocations

// Counts the heap allocations of a test program that links testing_allocations.cc.
#pragma once

namespace csi_proxy::testing_allocations {

// Returns the number of allocations of this thread so far.
int Allocations();

// Calls `function` four times. Returns the number of allocations of the last call on this thread,
// so that allocations that are made only once do not count.
template <typename Function>
int AllocationsOf(const Function& function) {
  for (int i = 0; i < 3; ++i) function();
  const int before = Allocations();
  function();
  return Allocations() - before;
}

}  // namespace csi_proxy::testing_allocations

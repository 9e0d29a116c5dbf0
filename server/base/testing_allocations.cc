#include "server/base/testing_allocations.h"

#include <cstdlib>
#include <new>

namespace csi_proxy::testing_allocations {
namespace {

thread_local int allocations = 0;

void* Allocate(size_t size) {
  ++allocations;
  void* const memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

int Allocations() { return allocations; }

}  // namespace csi_proxy::testing_allocations

void* operator new(size_t size) { return csi_proxy::testing_allocations::Allocate(size); }
void* operator new[](size_t size) { return csi_proxy::testing_allocations::Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

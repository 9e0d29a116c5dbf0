// Finds secrets in the memory that a test program frees. Replaces the program's operators new and
// delete, so only one source of the program may include this header.
#pragma once

#include <malloc.h>

#include <cstdlib>
#include <new>
#include <string_view>

namespace csi_proxy::testing_freed {

// The text that Free() looks for in the memory that this thread frees. Empty for no search.
inline thread_local std::string_view looked_for;
inline thread_local int found = 0;

inline void Free(void* memory) {
  if (memory != nullptr && !looked_for.empty()) {
    const std::string_view bytes(static_cast<const char*>(memory), malloc_usable_size(memory));
    if (bytes.find(looked_for) != std::string_view::npos) ++found;
  }
  std::free(memory);
}

// Runs `call`. Returns how many blocks with `secret` in them `call` freed on this thread.
template <typename Call>
int CountWith(std::string_view secret, const Call& call) {
  found = 0;
  looked_for = secret;
  call();
  looked_for = {};
  return found;
}

}  // namespace csi_proxy::testing_freed

// Memory starts as zeros, so that it cannot hold a secret of an earlier owner.
void* operator new(size_t size) {
  void* const memory = std::calloc(1, size > 0 ? size : 1);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { csi_proxy::testing_freed::Free(memory); }
void operator delete(void* memory, size_t) noexcept { csi_proxy::testing_freed::Free(memory); }

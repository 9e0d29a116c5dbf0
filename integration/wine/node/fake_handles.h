// Handles of things that only the simulated node has. The kernel gives multiples of four that are
// small (learn.microsoft.com/windows/win32/sysinfo/kernel-objects); these are neither, so that no
// call can take one for the other.
#pragma once

#include <cstdint>
#include <memory>

namespace csi_proxy::node_double {

// The object behind a fake handle.
class Opened {
 public:
  virtual ~Opened() = default;
};

bool IsFake(const void* handle);

// A handle of its own for what was opened, until CloseFake().
void* NewFake(std::shared_ptr<Opened> opened);

// Returns the object behind the handle; null when the handle is closed or not a fake one.
std::shared_ptr<Opened> FindFake(const void* handle);

// The same; null also when it stands for something else.
template <typename T>
std::shared_ptr<T> FindFakeOf(const void* handle) {
  return std::dynamic_pointer_cast<T>(FindFake(handle));
}

// Tells whether there was such a one.
bool CloseFake(const void* handle);

}  // namespace csi_proxy::node_double

// Handles of objects that only the simulated node has. Kernel handles are small multiples of four
// (learn.microsoft.com/windows/win32/sysinfo/kernel-objects); fake handles are large and odd, so no
// call can confuse the two.
#pragma once

#include <cstdint>
#include <memory>

namespace csi_proxy::node_double {

class Opened {
 public:
  virtual ~Opened() = default;
};

bool IsFake(const void* handle);

// Returns a new handle of `opened`, valid until CloseFake().
void* NewFake(std::shared_ptr<Opened> opened);

// Returns the object behind the handle; null if the handle is closed or not a fake one.
std::shared_ptr<Opened> FindFake(const void* handle);

// Returns FindFake() as a T; null also if the object is not a T.
template <typename T>
std::shared_ptr<T> FindFakeOf(const void* handle) {
  return std::dynamic_pointer_cast<T>(FindFake(handle));
}

// Returns false if the handle is not an open fake handle.
bool CloseFake(const void* handle);

}  // namespace csi_proxy::node_double

// Helpers for the tests of the real Os.
#pragma once

#include "server/machine/windows/os_files_windows.h"
// The headers below must follow os_files_windows.h, which undefines macros of windows.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "server/names/win32_error.h"

namespace csi_proxy::machine {

// Returns the Win32 code of a status: 0 for OK, -1 for an error without one.
inline int64_t Code(const absl::Status& status) {
  if (status.ok()) return 0;
  const auto code = Win32CodeOf(status);
  return code.has_value() ? int64_t{*code} : -1;
}
template <typename T>
int64_t Code(const absl::StatusOr<T>& result) {
  return Code(result.status());
}

// Returns true under Wine. Tests that call it show what Wine lacks.
inline bool IsWine() {
  return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr;
}

// Detects leaked handles. Compares the numbers of new handles, because Windows and Wine reuse low
// numbers. Also compares the count of handles, which is 0 under Wine.
class HandleWatch {
 public:
  // Returns roughly the number of handles added since construction.
  int64_t Growth() const {
    return std::max((Highest() - highest_) / 4, static_cast<int64_t>(Count()) - count_);
  }

 private:
  static int64_t Highest() {
    const win32::UniqueHandle handle(CreateEventW(nullptr, FALSE, FALSE, nullptr));
    return reinterpret_cast<int64_t>(handle.get());
  }
  static DWORD Count() {
    DWORD count = 0;
    GetProcessHandleCount(GetCurrentProcess(), &count);
    return count;
  }

  const int64_t highest_ = Highest();
  const int64_t count_ = Count();
};

}  // namespace csi_proxy::machine

// Helpers for the tests of the real Os.
#pragma once

#include "server/machine/windows/os_files_windows.h"
// Apart: it needs the undefined names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "server/base/win32_error.h"

namespace csi_proxy::machine {

// The Win32 code of a status, 0 when it is OK; -1 when it is an error without one.
inline int64_t Code(const absl::Status& status) {
  if (status.ok()) return 0;
  const auto code = Win32CodeOf(status);
  return code.has_value() ? int64_t{*code} : -1;
}
template <typename T>
int64_t Code(const absl::StatusOr<T>& result) {
  return Code(result.status());
}

// Wine lacks some of Windows; the tests that ask show the gaps.
inline bool IsWine() {
  return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr;
}

// Tells whether handles leak. Wine counts none (GetProcessHandleCount says 0), but it hands out the
// lowest number that is free, and Windows does not go higher for long either.
class HandleWatch {
 public:
  // Returns about how many more handles there are than at first.
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

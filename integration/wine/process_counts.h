// Counts a process's handles and memory for tests of leaks.
#pragma once

#include "server/base/win32.h"
// psapi.h and winternl.h need the header above.
#include <psapi.h>
#include <winternl.h>

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace csi_proxy::integration {

// Returns the number of handles of a process. Under Wine it is the capacity of the handle table (a
// power of two), because Wine's GetProcessHandleCount returns 0.
inline DWORD HandleRoom(const win32::UniqueHandle& process) {
  std::vector<char> buffer(1 << 20);
  ULONG needed = 0;
  EXPECT_EQ(NtQuerySystemInformation(SystemProcessInformation, buffer.data(),
                                     static_cast<ULONG>(buffer.size()), &needed),
            0);
  const DWORD pid = GetProcessId(process.get());
  const char* place = buffer.data();
  while (true) {
    const auto* const one = reinterpret_cast<const SYSTEM_PROCESS_INFORMATION*>(place);
    if (reinterpret_cast<uintptr_t>(one->UniqueProcessId) == pid) return one->HandleCount;
    if (one->NextEntryOffset == 0) break;
    place += one->NextEntryOffset;
  }
  ADD_FAILURE() << "no process " << pid;
  return 0;
}

inline size_t WorkingSet(const win32::UniqueHandle& process) {
  PROCESS_MEMORY_COUNTERS counters{};
  EXPECT_TRUE(GetProcessMemoryInfo(process.get(), &counters, sizeof(counters)));
  return counters.WorkingSetSize;
}

}  // namespace csi_proxy::integration

#include <windows.h>
// psapi.h needs windows.h first.
#include <psapi.h>

#include <cstdint>

#include "server/observability/process_stats.h"

namespace csi_proxy::observability {
namespace {

double Seconds(const FILETIME& time) {
  return static_cast<double>(uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime) / 1e7;
}

}  // namespace

ProcessStats ReadProcessStats() {
  ProcessStats stats;
  const HANDLE process = GetCurrentProcess();
  FILETIME start, end, kernel, user;
  if (GetProcessTimes(process, &start, &end, &kernel, &user)) {
    stats.cpu_seconds = Seconds(kernel) + Seconds(user);
  }
  PROCESS_MEMORY_COUNTERS_EX memory;
  if (K32GetProcessMemoryInfo(process, reinterpret_cast<PROCESS_MEMORY_COUNTERS*>(&memory),
                              sizeof(memory))) {
    stats.resident_bytes = static_cast<double>(memory.WorkingSetSize);
    stats.virtual_bytes = static_cast<double>(memory.PrivateUsage);
  }
  DWORD handles = 0;
  if (GetProcessHandleCount(process, &handles)) stats.open_descriptors = handles;
  return stats;
}

}  // namespace csi_proxy::observability

// Parts of gRPC 1.51 that the service's program replaces for speed. Nothing depends on the changes,
// and no library contains them: drivers that link the client use gRPC unchanged.
#include <grpc/support/time.h>

#include "server/base/win32.h"
#include "server/rpc/pipe/endpoint.h"

// gRPC for Windows has no threads that always poll, so it passes each callback to a thread that
// waits on a queue. The IoPort's threads do always poll. With these functions, which the linker
// puts in place of gRPC's (CMakeLists.txt, --wrap), callbacks run on the thread on which the bytes
// arrive. The names are those in src/core/lib/iomgr/iomgr.h and iomgr_internal.h.
bool RunInBackground() __asm__("__wrap__Z28grpc_iomgr_run_in_backgroundv");
bool RunInBackground() { return true; }
bool IsPollerThread() __asm__("__wrap__Z51grpc_iomgr_platform_is_any_background_poller_threadv");
bool IsPollerThread() { return csi_proxy::pipe::InGrpcCompletion(); }

// gRPC's clock (src/core/lib/gpr/time.cc).
extern gpr_timespec (*gpr_now_impl)(gpr_clock_type clock);

namespace csi_proxy::pipe {
namespace {

// A dozen times per call, gRPC asks C's _ftime for the time of day, which also computes the time
// zone. These clocks are only read from memory.
int64_t Counter() {
  LARGE_INTEGER counter;
  QueryPerformanceCounter(&counter);
  return counter.QuadPart;
}

gpr_timespec Now(gpr_clock_type clock) {
  constexpr int64_t kTicksPerSecond = 10'000'000;  // Of a FILETIME.
  constexpr int64_t kSecondsFrom1601To1970 = 11'644'473'600;
  static const int64_t frequency = [] {
    LARGE_INTEGER value;
    QueryPerformanceFrequency(&value);
    return value.QuadPart;
  }();
  if (clock == GPR_CLOCK_REALTIME) {
    FILETIME now;
    GetSystemTimePreciseAsFileTime(&now);
    const int64_t ticks =
        static_cast<int64_t>(uint64_t{now.dwHighDateTime} << 32 | now.dwLowDateTime);
    return {.tv_sec = ticks / kTicksPerSecond - kSecondsFrom1601To1970,
            .tv_nsec = static_cast<int32_t>(ticks % kTicksPerSecond * 100),
            .clock_type = clock};
  }
  // Counts from the first use; gRPC's own clock counts from its start.
  static const int64_t start = Counter();
  const int64_t passed = Counter() - start;
  return {.tv_sec = passed / frequency,
          .tv_nsec = static_cast<int32_t>(passed % frequency * 1'000'000'000 / frequency),
          .clock_type = clock};
}

[[maybe_unused]] const bool clock_is_set = [] {
  gpr_now_impl = &Now;
  return true;
}();

}  // namespace
}  // namespace csi_proxy::pipe

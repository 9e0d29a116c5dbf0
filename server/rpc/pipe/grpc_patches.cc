// The service, which is a program of its own, changes these parts of its gRPC 1.51 for speed.
// Nothing depends on the changes, and no library has them: a driver that links the client keeps
// gRPC as it is.
#include <grpc/support/time.h>

#include "server/base/win32.h"
#include "server/rpc/pipe/endpoint.h"

// gRPC for Windows has no threads that poll all the time, so it hands each callback to one of a few
// threads that wait on a queue. The IoPort's threads do poll all the time. With these answers,
// which the linker puts in the place of gRPC's own (CMakeLists.txt, --wrap), callbacks run where
// the bytes arrive. The names are those of src/core/lib/iomgr/iomgr.h and iomgr_internal.h.
bool RunInBackground() __asm__("__wrap__Z28grpc_iomgr_run_in_backgroundv");
bool RunInBackground() { return true; }
bool IsPollerThread() __asm__("__wrap__Z51grpc_iomgr_platform_is_any_background_poller_threadv");
bool IsPollerThread() { return csi_proxy::pipe::InGrpcCompletion(); }

// gRPC takes the time from here (src/core/lib/gpr/time.cc).
extern gpr_timespec (*gpr_now_impl)(gpr_clock_type clock);

namespace csi_proxy::pipe {
namespace {

// gRPC asks C's _ftime for the time of day, which works out the time zone as well, a dozen times a
// call. These clocks are read from memory.
int64_t Counter() {
  LARGE_INTEGER counter;
  QueryPerformanceCounter(&counter);
  return counter.QuadPart;
}

gpr_timespec Now(gpr_clock_type clock) {
  constexpr int64_t kTicksPerSecond = 10'000'000;  // of a FILETIME
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
  // From the first use on, as gRPC's own clock counts from the start.
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

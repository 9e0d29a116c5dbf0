// -fstack-protector-strong asks this of the runtime. GCC's libssp has it too, but takes the guard
// from a provider of cryptography, which loads DLLs: in csi_proxy.dll that would be within DllMain,
// where nothing may be loaded
// (learn.microsoft.com/windows/win32/dlls/dynamic-link-library-best-practices). Here the guard is
// made of the same sources as Visual C++'s.
#include <windows.h>

#include <cstdint>

extern "C" {

uintptr_t __stack_chk_guard = 0;

[[noreturn]] void __stack_chk_fail() {
  // __fastfail, which mingw-w64 does not have: as with /GS, no handler of the process runs on the
  // stack that was overwritten (learn.microsoft.com/cpp/intrinsics/fastfail).
  asm volatile("int $0x29" : : "c"(FAST_FAIL_STACK_COOKIE_CHECK_FAILURE));
  __builtin_unreachable();
}

}  // extern "C"

namespace {

// Before all constructors of C++, and so before any function that has a guard.
__attribute__((constructor(101), no_stack_protector)) void MakeGuard() {
  FILETIME time;
  GetSystemTimeAsFileTime(&time);
  LARGE_INTEGER counter;
  QueryPerformanceCounter(&counter);
  uint64_t guard = (uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime) ^
                   static_cast<uint64_t>(counter.QuadPart) * 0x9e3779b97f4a7c15 ^
                   (uint64_t{GetCurrentProcessId()} << 32 | GetCurrentThreadId()) ^
                   __builtin_ia32_rdtsc() << 16 ^ reinterpret_cast<uintptr_t>(&time);
  guard = (guard ^ guard >> 31) * 0xbf58476d1ce4e5b9;
  // A byte of 0 is one that no copied string writes.
  __stack_chk_guard = (guard ^ guard >> 29) & ~uint64_t{0xff};
}

}  // namespace

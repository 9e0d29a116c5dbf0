// The runtime of -fstack-protector-strong. GCC's libssp would take the guard from a cryptographic
// provider, and load the provider's DLLs. In csi_proxy.dll, DllMain would load the DLLs, which is
// forbidden (learn.microsoft.com/windows/win32/dlls/dynamic-link-library-best-practices). This
// runtime mixes the values that Visual C++'s runtime mixes, and the processor's time-stamp counter.
#include <windows.h>

#include <cstdint>

extern "C" {

uintptr_t __stack_chk_guard = 0;

[[noreturn]] void __stack_chk_fail() {
  // Does what __fastfail does, because mingw-w64 lacks __fastfail. As with /GS, no handler of the
  // process runs on the overwritten stack (learn.microsoft.com/cpp/intrinsics/fastfail).
  asm volatile("int $0x29" : : "c"(FAST_FAIL_STACK_COOKIE_CHECK_FAILURE));
  __builtin_unreachable();
}

}  // extern "C"

namespace {

// Sets the guard. Runs before all constructors of C++, and so before any function that checks the
// guard.
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
  // The lowest byte is zero, so that a copied string cannot contain the guard.
  __stack_chk_guard = (guard ^ guard >> 29) & ~uint64_t{0xff};
}

}  // namespace

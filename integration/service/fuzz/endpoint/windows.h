// The few names of Windows' that the endpoint and the types around it use, so that libFuzzer and
// the sanitizers, which mingw-w64 lacks, can run them on Linux.
#pragma once

#include <cstdint>

using DWORD = uint32_t;
using HANDLE = void*;
using SC_HANDLE = HANDLE;
using HLOCAL = HANDLE;
struct OVERLAPPED {};

enum : DWORD {
  ERROR_SUCCESS = 0,
  ERROR_INVALID_DATA = 13,
  ERROR_BROKEN_PIPE = 109,
  ERROR_OPERATION_ABORTED = 995,
};

inline int CloseHandle(HANDLE) { return 1; }
inline int CloseServiceHandle(SC_HANDLE) { return 1; }
inline HLOCAL LocalFree(HLOCAL) { return nullptr; }

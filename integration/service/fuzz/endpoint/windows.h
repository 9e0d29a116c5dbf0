// The names of <windows.h> that the endpoint and its types use. With them the endpoint runs on
// Linux, where libFuzzer and the sanitizers exist; mingw-w64 lacks both.
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

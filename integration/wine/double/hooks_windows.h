// The Win32 calls that act on the simulated node. Each function handles the node's devices,
// volumes, drive roots, server paths, services, firmware and fake handles, and passes everything
// else to the Win32 function of its name.
#pragma once

#include "server/platform/win32.h"
// winternl.h needs the header above.
#include <winternl.h>

namespace csi_proxy::node_double::hooks {

BOOL WINAPI CloseHandle(HANDLE handle);
HANDLE WINAPI CreateFileW(LPCWSTR path, DWORD access, DWORD share, LPSECURITY_ATTRIBUTES security,
                          DWORD disposition, DWORD flags, HANDLE pattern);
BOOL WINAPI DeviceIoControl(HANDLE handle, DWORD code, LPVOID input, DWORD input_size,
                            LPVOID output, DWORD output_size, LPDWORD returned,
                            LPOVERLAPPED overlapped);
BOOL WINAPI FlushFileBuffers(HANDLE handle);
DWORD WINAPI GetFileType(HANDLE handle);
BOOL WINAPI ReadFile(HANDLE handle, LPVOID buffer, DWORD size, LPDWORD read,
                     LPOVERLAPPED overlapped);

NTSTATUS NTAPI NtCreateFile(PHANDLE handle, ACCESS_MASK access, POBJECT_ATTRIBUTES object,
                            PIO_STATUS_BLOCK io, PLARGE_INTEGER size, ULONG attributes, ULONG share,
                            ULONG disposition, ULONG options, PVOID extended, ULONG extended_size);
BOOL WINAPI GetFileInformationByHandle(HANDLE handle, LPBY_HANDLE_FILE_INFORMATION information);
BOOL WINAPI GetFileInformationByHandleEx(HANDLE handle, FILE_INFO_BY_HANDLE_CLASS kind,
                                         LPVOID information, DWORD size);
BOOL WINAPI SetFileInformationByHandle(HANDLE handle, FILE_INFO_BY_HANDLE_CLASS kind,
                                       LPVOID information, DWORD size);

DWORD WINAPI GetFileAttributesW(LPCWSTR path);
BOOL WINAPI GetFileAttributesExW(LPCWSTR path, GET_FILEEX_INFO_LEVELS level, LPVOID information);
HANDLE WINAPI FindFirstFileW(LPCWSTR path, LPWIN32_FIND_DATAW found);
BOOL WINAPI FindNextFileW(HANDLE search, LPWIN32_FIND_DATAW found);
BOOL WINAPI FindClose(HANDLE search);
BOOL WINAPI GetVolumePathNameW(LPCWSTR path, LPWSTR name, DWORD size);
BOOL WINAPI GetVolumeNameForVolumeMountPointW(LPCWSTR path, LPWSTR name, DWORD size);
BOOLEAN WINAPI CreateSymbolicLinkW(LPCWSTR link, LPCWSTR target, DWORD flags);
BOOL WINAPI CreateDirectoryW(LPCWSTR path, LPSECURITY_ATTRIBUTES security);
BOOL WINAPI RemoveDirectoryW(LPCWSTR path);
BOOL WINAPI DeleteFileW(LPCWSTR path);

HANDLE WINAPI FindFirstVolumeW(LPWSTR name, DWORD size);
BOOL WINAPI FindNextVolumeW(HANDLE find, LPWSTR name, DWORD size);
BOOL WINAPI FindVolumeClose(HANDLE find);
BOOL WINAPI GetVolumeInformationW(LPCWSTR root, LPWSTR label, DWORD label_size, LPDWORD serial,
                                  LPDWORD component, LPDWORD flags, LPWSTR file_system,
                                  DWORD file_system_size);
BOOL WINAPI GetDiskFreeSpaceExW(LPCWSTR root, PULARGE_INTEGER available, PULARGE_INTEGER total,
                                PULARGE_INTEGER free);
BOOL WINAPI GetVolumePathNamesForVolumeNameW(LPCWSTR volume, LPWCH paths, DWORD size, PDWORD used);
BOOL WINAPI SetVolumeMountPointW(LPCWSTR directory, LPCWSTR volume);
BOOL WINAPI DeleteVolumeMountPointW(LPCWSTR directory);

// Services: every service is the node's, none is Wine's.
SC_HANDLE WINAPI OpenSCManagerW(LPCWSTR machine, LPCWSTR database, DWORD access);
SC_HANDLE WINAPI OpenServiceW(SC_HANDLE manager, LPCWSTR name, DWORD access);
BOOL WINAPI CloseServiceHandle(SC_HANDLE handle);
BOOL WINAPI QueryServiceStatusEx(SC_HANDLE service, SC_STATUS_TYPE level, LPBYTE status, DWORD size,
                                 LPDWORD needed);
BOOL WINAPI QueryServiceConfigW(SC_HANDLE service, LPQUERY_SERVICE_CONFIGW config, DWORD size,
                                LPDWORD needed);
BOOL WINAPI EnumDependentServicesW(SC_HANDLE service, DWORD state, LPENUM_SERVICE_STATUSW services,
                                   DWORD size, LPDWORD needed, LPDWORD count);
BOOL WINAPI StartServiceW(SC_HANDLE service, DWORD count, LPCWSTR* arguments);
BOOL WINAPI ControlService(SC_HANDLE service, DWORD control, LPSERVICE_STATUS status);

// Returns the replacement of a function that is replaced. Programs that look functions up at run
// time, as Go's do, get the replacement this way.
FARPROC WINAPI GetProcAddress(HMODULE module, LPCSTR name);

UINT WINAPI GetSystemFirmwareTable(DWORD provider, DWORD table, PVOID buffer, DWORD size);

}  // namespace csi_proxy::node_double::hooks

namespace csi_proxy::node_double {

// Replaces the functions above in the program's import table, not in those of its DLLs. In a
// program written in Go, also replaces the addresses that were looked up before.
void ReplaceImports();

// Replaces the functions above in csi_proxy.dll if it is loaded by now. Programs that contain
// github.com/microsoft/wmi activate WMI at their start, before they load csi_proxy.dll.
void ReplaceImportsOfLibrary();

}  // namespace csi_proxy::node_double

// Win32 error codes as statuses that keep the code. For all platforms, because the Windows host
// decides by codes and its tests run on Linux too. Windows' own texts come from win32.h.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace csi_proxy {

// The codes that the product or its simulator names, with the values of winerror.h
// (learn.microsoft.com/windows/win32/debug/system-error-codes).
namespace win32_error {
inline constexpr uint32_t kInvalidFunction = 1;
inline constexpr uint32_t kFileNotFound = 2;
inline constexpr uint32_t kPathNotFound = 3;
inline constexpr uint32_t kAccessDenied = 5;
inline constexpr uint32_t kInvalidDrive = 15;
inline constexpr uint32_t kWriteProtect = 19;
inline constexpr uint32_t kNotReady = 21;
inline constexpr uint32_t kGeneralFailure = 31;
inline constexpr uint32_t kSharingViolation = 32;
inline constexpr uint32_t kNotSupported = 50;
inline constexpr uint32_t kFileCorrupt = 1392;
inline constexpr uint32_t kBadNetPath = 53;
inline constexpr uint32_t kDeviceNotExist = 55;
inline constexpr uint32_t kNetworkAccessDenied = 65;
inline constexpr uint32_t kBadNetName = 67;
inline constexpr uint32_t kFileExists = 80;
inline constexpr uint32_t kInvalidParameter = 87;
inline constexpr uint32_t kDiskFull = 112;
inline constexpr uint32_t kInvalidName = 123;
inline constexpr uint32_t kDirNotEmpty = 145;
inline constexpr uint32_t kBadPathName = 161;
inline constexpr uint32_t kAlreadyExists = 183;
inline constexpr uint32_t kFileNameTooLong = 206;
inline constexpr uint32_t kPipeBusy = 231;
inline constexpr uint32_t kMoreData = 234;
inline constexpr uint32_t kDirectory = 267;
inline constexpr uint32_t kDeletePending = 303;
inline constexpr uint32_t kNoSuchDevice = 433;
inline constexpr uint32_t kUnrecognizedVolume = 1005;
inline constexpr uint32_t kDependentServicesRunning = 1051;
inline constexpr uint32_t kServiceAlreadyRunning = 1056;
inline constexpr uint32_t kServiceDisabled = 1058;
inline constexpr uint32_t kServiceDoesNotExist = 1060;
inline constexpr uint32_t kServiceCannotAcceptControl = 1061;
inline constexpr uint32_t kServiceNotActive = 1062;
inline constexpr uint32_t kServiceDependencyFailed = 1068;
inline constexpr uint32_t kIoDevice = 1117;
inline constexpr uint32_t kDeviceNotConnected = 1167;
inline constexpr uint32_t kNetworkUnreachable = 1231;
// A second user for a server: Windows connects to each server as one user only.
inline constexpr uint32_t kSessionCredentialConflict = 1219;
inline constexpr uint32_t kLogonFailure = 1326;
inline constexpr uint32_t kCannotResolveName = 1921;
inline constexpr uint32_t kNotAReparsePoint = 4390;
inline constexpr uint32_t kInvalidReparseData = 4392;
inline constexpr uint32_t kReparseTagMismatch = 4394;
inline constexpr uint32_t kReparsePointEncountered = 4395;
// FVE_E_LOCKED_VOLUME.
inline constexpr uint32_t kBitLockerLocked = 0x80310000;
}  // namespace win32_error

// Returns Windows' English text for `code`, such as `The network name cannot be found`, without the
// final period; "" if `code` is not in the table.
absl::string_view Win32Words(uint32_t code);

// Returns text and number, `The network name cannot be found (67)`, or `Windows error (4711)` if
// `code` is not in the table. For callers that cannot use win32::ErrorText().
std::string Win32Text(uint32_t code);

// Returns an error with `message` and with the status code and advice that refusals.h has for
// `code`; INTERNAL if it has none. Returns OK for 0. Win32CodeOf() of the error returns `code`.
absl::Status Win32Status(uint32_t code, absl::string_view message);

// Returns the Win32 code of a status that Win32Status() made, else nullopt.
std::optional<uint32_t> Win32CodeOf(const absl::Status& status);

// Returns true if the Win32 code of `status` is `code`.
bool HasWin32Code(const absl::Status& status, uint32_t code);
// Returns true if the Win32 code of `status` is one of `codes`.
bool HasWin32Code(const absl::Status& status, std::initializer_list<uint32_t> codes);

// Returns true if `status` says that an entry, or a directory on the way to it, does not exist.
bool IsFileNotFound(const absl::Status& status);

// Returns an error with `code` and `message` that keeps the Win32 code of `error`.
absl::Status Reworded(const absl::Status& error, absl::StatusCode code, absl::string_view message);

// Returns `status` with `what: ` before its message; its codes stay. OK stays OK.
absl::Status Prefixed(absl::string_view what, const absl::Status& status);

// Returns an error with ` (text)` after its message; its codes stay.
absl::Status Appended(const absl::Status& error, absl::string_view text);

}  // namespace csi_proxy

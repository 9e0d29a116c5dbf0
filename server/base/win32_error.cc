#include "server/base/win32_error.h"

#include <algorithm>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy {
namespace {

constexpr char kCodePayload[] = "csi-proxy/win32-error";

absl::StatusCode CodeOf(uint32_t code) {
  switch (code) {
    case win32_error::kFileNotFound:
    case win32_error::kPathNotFound:
    case win32_error::kInvalidDrive:
    case win32_error::kBadNetPath:
    case win32_error::kBadNetName:
    case win32_error::kServiceDoesNotExist:
    case 1168:  // ERROR_NOT_FOUND
      return absl::StatusCode::kNotFound;
    case win32_error::kAccessDenied:
    case win32_error::kDeletePending:
    case 1314:  // ERROR_PRIVILEGE_NOT_HELD
      return absl::StatusCode::kPermissionDenied;
    case win32_error::kFileExists:
    case win32_error::kAlreadyExists:
    case win32_error::kServiceAlreadyRunning:
    case 1073:  // ERROR_SERVICE_EXISTS
      return absl::StatusCode::kAlreadyExists;
    case win32_error::kInvalidParameter:
    case win32_error::kInvalidName:
    case win32_error::kBadPathName:
      return absl::StatusCode::kInvalidArgument;
    case win32_error::kDirNotEmpty:
    case win32_error::kDirectory:
    case win32_error::kDependentServicesRunning:
    case win32_error::kServiceDisabled:
    case win32_error::kLogonFailure:
      return absl::StatusCode::kFailedPrecondition;
    case 109:  // ERROR_BROKEN_PIPE
    case 231:  // ERROR_PIPE_BUSY
    case 232:  // ERROR_NO_DATA
    case 233:  // ERROR_PIPE_NOT_CONNECTED
    case win32_error::kSharingViolation:
    case win32_error::kServiceCannotAcceptControl:
      return absl::StatusCode::kUnavailable;
    case 8:     // ERROR_NOT_ENOUGH_MEMORY
    case 14:    // ERROR_OUTOFMEMORY
    case 1450:  // ERROR_NO_SYSTEM_RESOURCES
    case win32_error::kDiskFull:
      return absl::StatusCode::kResourceExhausted;
    case 121:  // ERROR_SEM_TIMEOUT
    case 258:  // WAIT_TIMEOUT
      return absl::StatusCode::kDeadlineExceeded;
    case 995:   // ERROR_OPERATION_ABORTED
    case 1223:  // ERROR_CANCELLED
      return absl::StatusCode::kCancelled;
    default:
      return absl::StatusCode::kInternal;
  }
}

// Texts of learn.microsoft.com/windows/win32/debug/system-error-codes and, from 2100 on, of
// learn.microsoft.com/windows/win32/netmgmt/network-management-error-codes.
constexpr struct {
  uint32_t code;
  const char* text;
} kTexts[] = {
    {win32_error::kInvalidFunction, "Incorrect function"},
    {win32_error::kFileNotFound, "The system cannot find the file specified"},
    {win32_error::kPathNotFound, "The system cannot find the path specified"},
    {win32_error::kAccessDenied, "Access is denied"},
    {win32_error::kInvalidDrive, "The system cannot find the drive specified"},
    {win32_error::kWriteProtect, "The media is write protected"},
    {win32_error::kNotReady, "The device is not ready"},
    {win32_error::kGeneralFailure, "A device attached to the system is not functioning"},
    {win32_error::kSharingViolation,
     "The process cannot access the file because it is being used by another process"},
    {8, "Not enough memory resources are available to process this command"},
    {win32_error::kNotSupported, "The request is not supported"},
    {win32_error::kFileCorrupt, "The file or directory is corrupted and unreadable"},
    {win32_error::kBadNetPath, "The network path was not found"},
    {59, "An unexpected network error occurred"},
    {64, "The specified network name is no longer available"},
    {win32_error::kBadNetName, "The network name cannot be found"},
    {85, "The local device name is already in use"},
    {86, "The specified network password is not correct"},
    {win32_error::kInvalidParameter, "The parameter is incorrect"},
    {win32_error::kDiskFull, "There is not enough space on the disk"},
    {121, "The semaphore timeout period has expired"},
    {win32_error::kInvalidName,
     "The filename, directory name, or volume label syntax is incorrect"},
    {win32_error::kDirNotEmpty, "The directory is not empty"},
    {win32_error::kBadPathName, "The specified path is invalid"},
    {win32_error::kAlreadyExists, "Cannot create a file when that file already exists"},
    {win32_error::kFileNameTooLong, "The filename or extension is too long"},
    {win32_error::kMoreData, "More data is available"},
    {win32_error::kDirectory, "The directory name is invalid"},
    {win32_error::kUnrecognizedVolume, "The volume does not contain a recognized file system"},
    {win32_error::kDependentServicesRunning,
     "A stop control has been sent to a service that other running services are dependent on"},
    {win32_error::kServiceAlreadyRunning, "An instance of the service is already running"},
    {win32_error::kServiceDisabled, "The service cannot be started because it is disabled"},
    {win32_error::kServiceDoesNotExist,
     "The specified service does not exist as an installed service"},
    {win32_error::kServiceCannotAcceptControl,
     "The service cannot accept control messages at this time"},
    {win32_error::kServiceNotActive, "The service has not been started"},
    {win32_error::kServiceDependencyFailed, "The dependency service or group failed to start"},
    {1219, "Other connections to the server with other credentials exist"},
    {1231, "The network location cannot be reached"},
    {win32_error::kLogonFailure, "The user name or password is incorrect"},
    {1327, "Account restrictions prevent the user from signing in"},
    {1328, "Your account has time restrictions that keep you from signing in right now"},
    {1330, "The password of this account has expired"},
    {1331, "This account is disabled"},
    {1385,
     "Logon failure: the user has not been granted the requested logon type at this computer"},
    {1907, "The user's password must be changed before signing in"},
    {1909, "The account is locked out"},
    {win32_error::kCannotResolveName, "The name of the file cannot be resolved by the system"},
    {2138, "The Workstation service has not been started"},
    {2250, "The network connection could not be found"},
    {win32_error::kNotAReparsePoint, "The file or directory is not a reparse point"},
    {win32_error::kInvalidReparseData, "The data present in the reparse point buffer is invalid"},
    {win32_error::kReparseTagMismatch,
     "There is a mismatch between the tag specified in the request and the tag present in the "
     "reparse point"},
    {win32_error::kReparsePointEncountered,
     "The object manager encountered a reparse point while retrieving an object"},
};

}  // namespace

absl::string_view Win32Words(uint32_t code) {
  for (const auto& known : kTexts) {
    if (known.code == code) return known.text;
  }
  return "";
}

std::string Win32Text(uint32_t code) {
  const absl::string_view words = Win32Words(code);
  return absl::StrCat(words.empty() ? "Windows error" : words, " (", code, ")");
}

absl::Status Win32Status(uint32_t code, absl::string_view message) {
  if (code == 0) return absl::OkStatus();
  absl::Status status(CodeOf(code), message);
  status.SetPayload(kCodePayload, absl::Cord(absl::StrCat(code)));
  return status;
}

std::optional<uint32_t> Win32CodeOf(const absl::Status& status) {
  if (status.ok()) return std::nullopt;
  const auto payload = status.GetPayload(kCodePayload);
  uint32_t code = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &code)) return std::nullopt;
  return code;
}

bool HasWin32Code(const absl::Status& status, uint32_t code) { return Win32CodeOf(status) == code; }

bool HasWin32Code(const absl::Status& status, std::initializer_list<uint32_t> codes) {
  const std::optional<uint32_t> code = Win32CodeOf(status);
  return code.has_value() && std::find(codes.begin(), codes.end(), *code) != codes.end();
}

bool IsNotThere(const absl::Status& status) {
  return HasWin32Code(status, {win32_error::kFileNotFound, win32_error::kPathNotFound});
}

absl::Status Reworded(const absl::Status& error, absl::StatusCode code, absl::string_view message) {
  absl::Status reworded(code, message);
  error.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { reworded.SetPayload(url, payload); });
  return reworded;
}

absl::Status Prefixed(absl::string_view what, const absl::Status& status) {
  if (status.ok()) return status;
  return Reworded(status, status.code(), absl::StrCat(what, ": ", status.message()));
}

}  // namespace csi_proxy

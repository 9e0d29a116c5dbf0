// Converts WMI's errors to statuses: the HRESULT of a call that failed, and the ReturnValue of a
// method that ran and failed.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/machine/cim/session.h"

namespace csi_proxy::cim {

// The HRESULTs that the product tests for
// (learn.microsoft.com/windows/win32/wmisdk/wmi-error-constants).
namespace hresult {
inline constexpr uint32_t kFailed = 0x80041001;
inline constexpr uint32_t kNotFound = 0x80041002;
inline constexpr uint32_t kAccessDenied = 0x80041003;
inline constexpr uint32_t kProviderFailure = 0x80041004;
inline constexpr uint32_t kTypeMismatch = 0x80041005;
inline constexpr uint32_t kInvalidParameter = 0x80041008;
inline constexpr uint32_t kInvalidNamespace = 0x8004100E;
inline constexpr uint32_t kInvalidClass = 0x80041010;
inline constexpr uint32_t kProviderLoadFailure = 0x80041013;
inline constexpr uint32_t kInvalidQuery = 0x80041017;
inline constexpr uint32_t kInvalidMethod = 0x8004102E;
inline constexpr uint32_t kInvalidMethodParameters = 0x8004102F;
inline constexpr uint32_t kShuttingDown = 0x80041033;
inline constexpr uint32_t kInvalidObjectPath = 0x8004103A;
inline constexpr uint32_t kTimedOut = 0x80041069;
inline constexpr uint32_t kTransportFailure = 0x80041015;
inline constexpr uint32_t kRpcServerUnavailable = 0x800706BA;
inline constexpr uint32_t kRpcCallFailed = 0x800706BE;
inline constexpr uint32_t kRpcCallFailedDne = 0x800706BF;
inline constexpr uint32_t kRpcDisconnected = 0x80010108;
inline constexpr uint32_t kCallRejected = 0x80010001;
}  // namespace hresult

// Returns the error `what: WBEM_E_ACCESS_DENIED (0x80041003): detail`. `detail`, WMI's own text,
// may be empty. An HRESULT that wraps a Win32 code (0x8007....) gets the status of that code unless
// refusals.h has a row for the HRESULT. HresultOf() of the status returns `hresult`.
absl::Status HresultStatus(uint32_t hresult, absl::string_view what, absl::string_view detail = "");
// Returns HresultStatus() with the text of `error`, the error object that WMI left
// (`__ExtendedStatus`, `MSFT_WmiError`), as the detail. `error` may name a more specific error:
// - A Win32 error, unless `hresult` wraps one itself. Win32CodeOf() of the status returns it. If
//   `hresult` is the unspecific WBEM_E_FAILED, the Win32 error also decides the status code.
// - Else an HRESULT in its MessageID, which replaces `hresult`.
absl::Status ErrorObjectStatus(uint32_t hresult, absl::string_view what, const Object& error);
std::optional<uint32_t> HresultOf(const absl::Status& status);

// Returns true if the connection to WMI is lost, for example because WMI restarted. The call may
// succeed on a new connection.
bool IsConnectionLost(const absl::Status& status);

// Returns the status of a method of the Storage namespace: OK for 0, else `operation failed: Not
// enough free capacity (40000): text of ExtendedStatus`. `operation` is a gerund phrase. Values:
// learn.microsoft.com/windows-hardware/drivers/storage/storage-management-api-common-return-codes
// and each method's page.
absl::Status StorageStatus(absl::string_view operation, const MethodResult& result);

// Returns the status of a method with undocumented return values (SMB, iSCSI). Reads the value as a
// Win32 code or an HRESULT.
absl::Status ReturnValueStatus(absl::string_view operation, const MethodResult& result);

// The return values of the Storage namespace that the product tests for.
inline constexpr uint32_t kJobStarted = 4096;
inline constexpr uint32_t kSizeNotSupported = 4097;
inline constexpr uint32_t kNoCapacity = 40000;
inline constexpr uint32_t kCacheOutOfDate = 40003;
inline constexpr uint32_t kNotInCache = 40006;
inline constexpr uint32_t kAlreadyInitialized = 41001;
inline constexpr uint32_t kAccessPathInUse = 42002;
inline constexpr uint32_t kUnknownFileSystem = 42009;

}  // namespace csi_proxy::cim

#include "server/machine/cim/errors.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "server/base/win32_error.h"

namespace csi_proxy::cim {
namespace {

using enum absl::StatusCode;

struct Row {
  uint32_t value;
  const char* text;
  absl::StatusCode code;
};

// A malformed request to WMI is our mistake, hence INTERNAL. A missing class is a feature that the
// node lacks, hence UNIMPLEMENTED.
constexpr Row kHresults[] = {
    {0x80041001, "WBEM_E_FAILED", kInternal},
    {0x80041002, "WBEM_E_NOT_FOUND", kNotFound},
    {0x80041003, "WBEM_E_ACCESS_DENIED", kPermissionDenied},
    {0x80041004, "WBEM_E_PROVIDER_FAILURE", kInternal},
    {0x80041005, "WBEM_E_TYPE_MISMATCH", kInternal},
    {0x80041006, "WBEM_E_OUT_OF_MEMORY", kResourceExhausted},
    {0x80041008, "WBEM_E_INVALID_PARAMETER", kInternal},
    {0x8004100C, "WBEM_E_NOT_SUPPORTED", kUnimplemented},
    {0x8004100E, "WBEM_E_INVALID_NAMESPACE", kUnimplemented},
    {0x80041010, "WBEM_E_INVALID_CLASS", kUnimplemented},
    {0x80041013, "WBEM_E_PROVIDER_LOAD_FAILURE", kUnavailable},
    {0x80041014, "WBEM_E_INITIALIZATION_FAILURE", kUnavailable},
    {0x80041015, "WBEM_E_TRANSPORT_FAILURE", kUnavailable},
    {0x80041017, "WBEM_E_INVALID_QUERY", kInternal},
    {0x80041019, "WBEM_E_ALREADY_EXISTS", kAlreadyExists},
    {0x80041024, "WBEM_E_PROVIDER_NOT_CAPABLE", kUnimplemented},
    {0x8004102E, "WBEM_E_INVALID_METHOD", kUnimplemented},
    {0x8004102F, "WBEM_E_INVALID_METHOD_PARAMETERS", kInternal},
    {0x80041033, "WBEM_E_SHUTTING_DOWN", kUnavailable},
    {0x8004103A, "WBEM_E_INVALID_OBJECT_PATH", kInternal},
    {0x80041055, "WBEM_E_METHOD_NOT_IMPLEMENTED", kUnimplemented},
    {0x80041058, "WBEM_E_UNPARSABLE_QUERY", kInternal},
    {0x80041069, "WBEM_E_TIMED_OUT", kDeadlineExceeded},
    {0x8004106C, "WBEM_E_QUOTA_VIOLATION", kResourceExhausted},
    {0x80010001, "RPC_E_CALL_REJECTED", kUnavailable},
    {0x80010108, "RPC_E_DISCONNECTED", kUnavailable},
    {0x800706BA, "RPC_S_SERVER_UNAVAILABLE", kUnavailable},
    {0x800706BE, "RPC_S_CALL_FAILED", kUnavailable},
    {0x800706BF, "RPC_S_CALL_FAILED_DNE", kUnavailable},
};

constexpr Row kReturnValues[] = {
    {1, "Not supported", kUnimplemented},
    {2, "Unspecified error", kInternal},
    {3, "Timed out", kDeadlineExceeded},
    {4, "Failed", kInternal},
    {5, "Invalid parameter", kInvalidArgument},
    {6, "In use", kFailedPrecondition},
    {7, "Not supported for a 32-bit process", kInternal},
    {8, "Object not found", kInternal},
    {4096, "A job was started, which was not asked for", kInternal},
    {4097, "Size not supported", kInternal},
    {4098, "Timeout not supported", kInternal},
    {4099, "Device is busy", kInternal},
    {40000, "Not enough free capacity", kResourceExhausted},
    {40001, "Access denied", kPermissionDenied},
    {40002, "Insufficient resources", kResourceExhausted},
    {40003, "The cache of the storage provider is out of date", kInternal},
    {40004, "Unexpected I/O error", kInternal},
    {40005, "Exactly one of Size and UseMaximumSize is required", kInvalidArgument},
    {40006, "The object is not in the cache of the storage provider", kInternal},
    {40007, "Fatal device error", kInternal},
    {40018, "The clustered object must be in maintenance mode", kFailedPrecondition},
    {41000, "The disk is not initialised", kFailedPrecondition},
    {41001, "The disk is initialised already", kFailedPrecondition},
    {41002, "The disk is read-only", kFailedPrecondition},
    {41003, "The disk is offline", kFailedPrecondition},
    {41004, "The disk holds as many partitions as it can", kResourceExhausted},
    {41005, "Bad alignment", kInvalidArgument},
    {41006, "A parameter is not valid for this type of partition", kInvalidArgument},
    {41007, "The disk holds OEM partitions", kInternal},
    {41008, "The disk holds data partitions", kInternal},
    {41009, "Not on a critical disk", kFailedPrecondition},
    {41010, "Bad partition type", kInvalidArgument},
    {41011, "Only the first 2 TB of an MBR disk can be used", kInternal},
    {41012, "Bad offset", kInvalidArgument},
    {41013, "The disk holds data and cannot be converted", kInternal},
    {41014, "The disk is too small for a GPT", kInternal},
    {41015, "No medium in the device", kFailedPrecondition},
    {41016, "Bad offset", kInvalidArgument},
    {41017, "Bad partition layout", kInvalidArgument},
    {41018, "The clustered object must be in maintenance mode", kFailedPrecondition},
    {42000, "The partition was deleted, its access paths were not", kInternal},
    {42001, "The extended partition is not empty", kInternal},
    {42002, "The access path is in use", kInternal},
    {42004, "A hidden partition cannot have access paths", kFailedPrecondition},
    {42005, "The path of a volume GUID cannot be removed", kInternal},
    {42006, "The drive letter of a boot or paging volume cannot be removed", kInternal},
    {42007, "Bad access path", kInvalidArgument},
    {42008, "The volume has errors and cannot shrink", kFailedPrecondition},
    {42009, "The file system is unknown, so it cannot be resized", kFailedPrecondition},
    {42010, "Not on a system or critical partition", kFailedPrecondition},
    {42011, "Only on a data partition", kFailedPrecondition},
    {42012, "Several drive letters", kInternal},
    {42013, "A drive letter is not possible here", kInternal},
    {43000, "Bad cluster size", kInvalidArgument},
    {43001, "The file system is not supported", kInvalidArgument},
    {43002, "The volume cannot be formatted quickly", kFailedPrecondition},
    {43003, "There would be too many clusters", kInternal},
    {43004, "Bad UDF version", kInternal},
    {43005, "The cluster size is not a multiple of the physical sector size", kInvalidArgument},
    {43006, "The drive is read-only", kFailedPrecondition},
    {46000, "The storage provider cannot be reached", kInternal},
    {46001, "The storage subsystem cannot be reached", kInternal},
    {48007, "The storage pool is read-only", kInternal},
};

const Row* Find(const Row* begin, const Row* end, uint32_t value) {
  const Row* const row = std::find_if(begin, end, [&](const Row& r) { return r.value == value; });
  return row == end ? nullptr : row;
}

constexpr char kPayload[] = "csi-proxy/hresult";
constexpr uint32_t kFacilityWin32 = 0x80070000;

std::string WithDetail(std::string text, absl::string_view detail) {
  if (!detail.empty()) absl::StrAppend(&text, ": ", detail);
  return text;
}

// Returns the message in a method's ExtendedStatus, or "". No page documents its type: it may be
// null, text or an object.
std::string ExtendedMessage(const MethodResult& result) {
  const auto status = result.out.Get("ExtendedStatus");
  if (!status.ok() || status->is_null() || status->is_array()) return "";
  if (const auto text = status->AsText(); text.ok()) return *text;
  const auto object = status->AsObject();
  if (!object.ok()) return "";
  return object->GetStringOr("Message", "").value_or("");
}

// Returns the text of an error object, beginning with its message. Leaves out ParameterInfo, which
// repeats the arguments.
std::string Describe(const Object& error, uint32_t hresult) {
  std::string text = error.GetStringOr("Message", "").value_or("");
  if (text.empty()) text = error.GetStringOr("Description", "").value_or("");
  std::vector<std::string> facts;
  for (const char* const name : {"Operation", "ProviderName"}) {
    const std::string fact = error.GetStringOr(name, "").value_or("");
    if (!fact.empty()) facts.push_back(absl::StrCat(name, " ", fact));
  }
  const uint32_t code = error.GetUint32Or("StatusCode", 0).value_or(0);
  if (code != 0 && code != hresult) facts.push_back(absl::StrFormat("StatusCode 0x%08X", code));
  if (facts.empty()) return text;
  return absl::StrCat(text, text.empty() ? "" : " ", "(", absl::StrJoin(facts, ", "), ")");
}

// Returns the code of a Win32 error, plain or wrapped in an HRESULT; 0 for other numbers.
uint32_t AsWin32(uint32_t code) {
  if (code <= 0xFFFF) return code;
  return (code & 0xFFFF0000) == kFacilityWin32 ? code & 0xFFFF : 0;
}

// Returns the number that ends a MessageID, or 0: `Windows System Error 1219` of the SMB classes
// (github.com/kubernetes-csi/csi-driver-smb/issues/219), `WIN32 1722`, `HRESULT 0x80070035`.
uint32_t NumberOf(const std::string& message_id) {
  for (const absl::string_view kind : {"Windows System Error ", "WIN32 ", "HRESULT "}) {
    absl::string_view number = message_id;
    if (!absl::StartsWithIgnoreCase(number, kind)) continue;
    number.remove_prefix(kind.size());
    uint32_t value = 0;
    const bool is_hexadecimal = absl::StartsWithIgnoreCase(number, "0x");
    const bool is_number =
        is_hexadecimal ? absl::SimpleHexAtoi(number, &value) : absl::SimpleAtoi(number, &value);
    return is_number ? value : 0;
  }
  return 0;
}

// Returns the Win32 error that an error object names, or 0.
uint32_t NamedWin32Error(const Object& error) {
  const uint32_t by_id = AsWin32(NumberOf(error.GetStringOr("MessageID", "").value_or("")));
  if (by_id != 0) return by_id;
  // Properties of MSFT_WmiError. Codes of type MI are numbers of another list
  // (learn.microsoft.com/windows/win32/api/mi/ne-mi-mi_result).
  if (!absl::EqualsIgnoreCase(error.GetStringOr("error_Type", "").value_or(""), "MI")) {
    const uint32_t code = AsWin32(error.GetUint32Or("error_Code", 0).value_or(0));
    if (code != 0) return code;
  }
  const uint32_t status = error.GetUint32Or("StatusCode", 0).value_or(0);
  return status > 0xFFFF ? AsWin32(status) : 0;
}

}  // namespace

absl::Status ErrorObjectStatus(uint32_t hresult, absl::string_view what, const Object& error) {
  const std::string detail = Describe(error, hresult);
  absl::Status status = HresultStatus(hresult, what, detail);
  const uint32_t code = NamedWin32Error(error);
  if (code == 0) {
    // The iSCSI classes name HRESULTs of their own: `HRESULT 0xefff0009`.
    const uint32_t named = NumberOf(error.GetStringOr("MessageID", "").value_or(""));
    return named >= 0x80000000 ? HresultStatus(named, what, detail) : status;
  }
  if (Win32CodeOf(status).has_value()) return status;
  absl::Status named = Win32Status(
      code, WithDetail(absl::StrFormat("%s: %s, 0x%08X", what, Win32Text(code), hresult), detail));
  // The HRESULT's code stays, unless it is the unspecific one; the Win32 error is added.
  absl::Status& result = hresult == hresult::kFailed ? named : status;
  for (const absl::Status& part : {status, named}) {
    part.ForEachPayload(
        [&](absl::string_view url, const absl::Cord& payload) { result.SetPayload(url, payload); });
  }
  return result;
}

absl::Status HresultStatus(uint32_t hresult, absl::string_view what, absl::string_view detail) {
  const std::string number = absl::StrFormat("0x%08X", hresult);
  const Row* const row = Find(std::begin(kHresults), std::end(kHresults), hresult);
  absl::Status status;
  if (row != nullptr) {
    status = absl::Status(
        row->code, WithDetail(absl::StrCat(what, ": ", row->text, " (", number, ")"), detail));
  } else if ((hresult & 0xFFFF0000) == kFacilityWin32 && (hresult & 0xFFFF) != 0) {
    status = Win32Status(
        hresult & 0xFFFF,
        WithDetail(absl::StrCat(what, ": ", Win32Text(hresult & 0xFFFF), ", ", number), detail));
  } else {
    status =
        absl::InternalError(WithDetail(absl::StrCat(what, ": WMI failed (", number, ")"), detail));
  }
  status.SetPayload(kPayload, absl::Cord(absl::StrCat(hresult)));
  return status;
}

std::optional<uint32_t> HresultOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  uint32_t value = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &value)) return std::nullopt;
  return value;
}

bool IsConnectionLost(const absl::Status& status) {
  switch (HresultOf(status).value_or(0)) {
    case hresult::kShuttingDown:
    case hresult::kTransportFailure:
    case hresult::kRpcDisconnected:
    case hresult::kRpcServerUnavailable:
    case hresult::kRpcCallFailed:
    case hresult::kRpcCallFailedDne:
      return true;
    default:
      return false;
  }
}

absl::Status StorageStatus(absl::string_view operation, const MethodResult& result) {
  if (result.return_value == 0) return absl::OkStatus();
  const Row* const row =
      Find(std::begin(kReturnValues), std::end(kReturnValues), result.return_value);
  return absl::Status(
      row != nullptr ? row->code : kInternal,
      WithDetail(absl::StrCat(operation, " failed: ", row != nullptr ? row->text : "WMI says no",
                              " (", result.return_value, ")"),
                 ExtendedMessage(result)));
}

absl::Status OpaqueStatus(absl::string_view operation, const MethodResult& result) {
  if (result.return_value == 0) return absl::OkStatus();
  if (result.return_value >= 0x80000000) {
    return HresultStatus(result.return_value, operation, ExtendedMessage(result));
  }
  return Win32Status(
      result.return_value,
      WithDetail(absl::StrCat(operation, " failed: ", Win32Text(result.return_value)),
                 ExtendedMessage(result)));
}

}  // namespace csi_proxy::cim

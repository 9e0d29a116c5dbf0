#include "server/machine/cim/errors.h"

#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "server/names/refusals.h"
#include "server/names/win32_error.h"

namespace csi_proxy::cim {
namespace {

constexpr char kPayload[] = "csi-proxy/hresult";
constexpr uint32_t kFacilityWin32 = 0x80070000;
// The facility of HRESULTs of the iSCSI initiator.
constexpr uint32_t kFacilityIscsi = 0xEFFF0000;

std::string WithDetail(std::string text, absl::string_view detail) {
  if (!detail.empty()) absl::StrAppend(&text, ": ", detail);
  return text;
}

// Returns the message in a method's ExtendedStatus, or "". No page documents the type of
// ExtendedStatus. It may be null, text or an object.
std::string ExtendedMessage(const MethodResult& result) {
  const auto status = result.out.Get("ExtendedStatus");
  if (!status.ok() || status->is_null() || status->is_array()) return "";
  if (const auto text = status->AsText(); text.ok()) return *text;
  const auto object = status->AsObject();
  if (!object.ok()) return "";
  return object->GetStringOr("Message", "").value_or("");
}

// Returns an error object's Message, or its Description if it has no Message. Appends Operation,
// ProviderName and StatusCode (unless `hresult`) in parentheses; ParameterInfo repeats arguments.
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

// Returns the Win32 error that `code` is, or that it wraps as an HRESULT, or 0 if it is neither.
uint32_t AsWin32(uint32_t code) {
  if (code <= 0xFFFF) return code;
  return (code & 0xFFFF0000) == kFacilityWin32 ? code & 0xFFFF : 0;
}

// Returns the number of `WIN32 1722`, `HRESULT 0x80070035` or `Windows System Error 1219`
// (github.com/kubernetes-csi/csi-driver-smb/issues/219), else 0.
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
  // MSFT_WmiError has error_Type and error_Code. A code of type MI is an MI_Result, not a Win32
  // error (learn.microsoft.com/windows/win32/api/mi/ne-mi-mi_result).
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
    // The iSCSI classes name HRESULTs of the initiator, such as `HRESULT 0xefff0009`.
    const uint32_t named = NumberOf(error.GetStringOr("MessageID", "").value_or(""));
    return named >= 0x80000000 ? HresultStatus(named, what, detail) : status;
  }
  if (Win32CodeOf(status).has_value()) return status;
  absl::Status named = Win32Status(
      code, WithDetail(absl::StrFormat("%s: %s, 0x%08X", what, Win32Text(code), hresult), detail));
  // The status keeps the code of the HRESULT unless the HRESULT is WBEM_E_FAILED. Both errors are
  // payloads of the status.
  absl::Status& result = hresult == hresult::kFailed ? named : status;
  for (const absl::Status& part : {status, named}) {
    part.ForEachPayload(
        [&](absl::string_view url, const absl::Cord& payload) { result.SetPayload(url, payload); });
  }
  return result;
}

absl::Status HresultStatus(uint32_t hresult, absl::string_view what, absl::string_view detail) {
  const std::string number = absl::StrFormat("0x%08X", hresult);
  const Refusal* const row = FindRefusal(Refuser::kHresult, hresult);
  absl::Status status;
  if (row != nullptr) {
    status = absl::Status(
        row->code, WithDetail(absl::StrCat(what, ": ", row->words, " (", number, ")"), detail));
  } else if ((hresult & 0xFFFF0000) == kFacilityWin32 && (hresult & 0xFFFF) != 0) {
    status = Win32Status(
        hresult & 0xFFFF,
        WithDetail(absl::StrCat(what, ": ", Win32Text(hresult & 0xFFFF), ", ", number), detail));
  } else {
    const bool is_iscsi = (hresult & 0xFFFF0000) == kFacilityIscsi;
    status = absl::InternalError(
        WithDetail(absl::StrCat(what, is_iscsi ? ": iSCSI error (" : ": WMI failed (", number,
                                is_iscsi ? ", see iscsierr.h)" : ")"),
                   detail));
  }
  status.SetPayload(kPayload, absl::Cord(absl::StrCat(hresult)));
  return row == nullptr ? status : Advise(status, row->advice);
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
  const Refusal* const row = FindRefusal(Refuser::kStorage, result.return_value);
  const absl::Status status(
      row != nullptr ? row->code : absl::StatusCode::kInternal,
      WithDetail(
          absl::StrCat(operation, " failed: ", row != nullptr ? row->words : "WMI gives no reason",
                       " (", result.return_value, ")"),
          ExtendedMessage(result)));
  return row == nullptr ? status : Advise(status, row->advice);
}

absl::Status ReturnValueStatus(absl::string_view operation, const MethodResult& result) {
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

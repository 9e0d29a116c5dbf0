#include "integration/wine/node/error_info_windows.h"

#include <optional>
#include <string>
#include <utility>

#include "integration/wine/node/unknown.h"
#include "integration/wine/node/wmi_object_windows.h"
#include "server/base/win32_error.h"
#include "server/machine/cim/errors.h"

namespace csi_proxy::node_double {
namespace {

using cim::Value;

class ErrorInfo final : public Unknown<IErrorInfo> {
 public:
  ErrorInfo(cim::ComPtr<WmiObject> object, std::string description)
      : object_(std::move(object)), description_(std::move(description)) {}

  // The error object stands behind the interface of Automation.
  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override {
    if (iid == IID_IWbemClassObject) return object_->QueryInterface(iid, out);
    return Unknown::QueryInterface(iid, out);
  }
  HRESULT STDMETHODCALLTYPE GetDescription(BSTR* description) override {
    if (description == nullptr) return E_POINTER;
    *description = cim::Bstr(description_).Release();
    return S_OK;
  }
  NOT_IMPLEMENTED(GetGUID, GUID*)
  NOT_IMPLEMENTED(GetSource, BSTR*)
  NOT_IMPLEMENTED(GetHelpFile, BSTR*)
  NOT_IMPLEMENTED(GetHelpContext, DWORD*)

 private:
  const cim::ComPtr<WmiObject> object_;
  const std::string description_;
};

}  // namespace

HRESULT HresultOf(const absl::Status& status) {
  if (const std::optional<uint32_t> own = cim::HresultOf(status); own.has_value()) {
    return static_cast<HRESULT>(*own);
  }
  if (const std::optional<uint32_t> win32 = Win32CodeOf(status); win32.has_value()) {
    return HRESULT_FROM_WIN32(*win32);
  }
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return WBEM_E_NOT_FOUND;
    case absl::StatusCode::kPermissionDenied:
      return WBEM_E_ACCESS_DENIED;
    case absl::StatusCode::kDeadlineExceeded:
      return WBEM_E_TIMED_OUT;
    case absl::StatusCode::kCancelled:
      return WBEM_E_CALL_CANCELLED;
    default:
      return WBEM_E_FAILED;
  }
}

HRESULT Fail(const absl::Status& status, absl::string_view operation,
             absl::string_view parameters) {
  const HRESULT result = HresultOf(status);
  const std::string description(status.message());
  cim::ComPtr<WmiObject> object = WmiObject::OfValues(
      ExtendedStatusDefinition(), {{"Description", Value::String(description)},
                                   {"Operation", Value::String(std::string(operation))},
                                   {"ParameterInfo", Value::String(std::string(parameters))},
                                   {"ProviderName", Value::String("csi_proxy_node_double")},
                                   {"StatusCode", Value::Uint32(static_cast<uint32_t>(result))}});
  const cim::ComPtr<ErrorInfo> info(new ErrorInfo(std::move(object), description));
  SetErrorInfo(0, info.get());
  return result;
}

HRESULT Fail(HRESULT result, absl::string_view operation, absl::string_view parameters) {
  return Fail(cim::HresultStatus(static_cast<uint32_t>(result), operation), operation, parameters);
}

}  // namespace csi_proxy::node_double

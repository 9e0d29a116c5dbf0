#include "integration/wine/double/error_info_windows.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "integration/wine/double/wmi_object_windows.h"
#include "server/machine/cim/errors.h"
#include "server/machine/windows/cim/testing/com_objects_windows.h"
#include "server/names/win32_error.h"

namespace csi_proxy::node_double {
namespace {

using cim::Value;

// Defines `MSFT_WmiError`, in which newer providers report the Win32 error.
DefinitionPtr WmiErrorDefinition() {
  static const auto* const kDefinition = [] {
    auto definition = std::make_shared<Definition>();
    definition->name = "MSFT_WmiError";
    definition->is_system = true;
    definition->members.push_back({"Message", cim::Type::kString, false, false, false});
    definition->members.push_back({"MessageID", cim::Type::kString, false, false, false});
    definition->members.push_back({"error_Code", cim::Type::kUint32, false, false, false});
    return new DefinitionPtr(std::move(definition));
  }();
  return *kDefinition;
}

// Makes the error object for a failed `operation` on `parameters`.
cim::ComPtr<WmiObject> ErrorObject(const absl::Status& status, HRESULT result,
                                   absl::string_view operation, absl::string_view parameters) {
  const Value description = Value::String(std::string(status.message()));
  const std::optional<uint32_t> error = Win32CodeOf(status);
  if (static_cast<uint32_t>(result) == cim::hresult::kFailed && error.has_value()) {
    return WmiObject::OfValues(
        WmiErrorDefinition(),
        {{"Message", description},
         {"MessageID", Value::String(absl::StrCat("Windows System Error ", *error))},
         {"error_Code", Value::Uint32(*error)}});
  }
  return WmiObject::OfValues(ExtendedStatusDefinition(),
                             {{"Description", description},
                              {"Operation", Value::String(std::string(operation))},
                              {"ParameterInfo", Value::String(std::string(parameters))},
                              {"ProviderName", Value::String("csi_proxy_node_double")},
                              {"StatusCode", Value::Uint32(static_cast<uint32_t>(result))}});
}

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
  const cim::ComPtr<WmiObject> object = ErrorObject(status, result, operation, parameters);
  const cim::ComPtr<cim::ErrorInfo> info(new cim::ErrorInfo(
      cim::ComPtr<IWbemClassObject>(HandOut(object)), std::string(status.message())));
  SetErrorInfo(0, info.get());
  return result;
}

HRESULT Fail(HRESULT result, absl::string_view operation, absl::string_view parameters) {
  return Fail(cim::HresultStatus(static_cast<uint32_t>(result), operation), operation, parameters);
}

}  // namespace csi_proxy::node_double

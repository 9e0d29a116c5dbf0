#include "server/machine/windows/cim/class_object_windows.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/machine/cim/errors.h"
#include "server/machine/windows/cim/variant_windows.h"
#include "server/names/win32_error.h"

namespace csi_proxy::cim {
namespace {

// Returns a text property, or "" if it is missing, null or not text.
std::string TextOf(IWbemClassObject* object, const wchar_t* name) {
  Variant value;
  if (FAILED(object->Get(name, 0, value.Receive(), nullptr, nullptr))) return "";
  return V_VT(value.get()) == VT_BSTR ? Bstr::Utf8(V_BSTR(value.get())) : "";
}

}  // namespace

absl::StatusOr<Object> ToObject(IWbemClassObject* object) {
  const std::string class_name = TextOf(object, L"__CLASS");
  std::string path = TextOf(object, L"__RELPATH");
  if (path.empty()) path = TextOf(object, L"__PATH");
  Properties properties;
  HRESULT result = object->BeginEnumeration(WBEM_FLAG_NONSYSTEM_ONLY);
  while (SUCCEEDED(result)) {
    Bstr name;
    Variant variant;
    CIMTYPE type = CIM_EMPTY;
    result = object->Next(0, name.Receive(), variant.Receive(), &type, nullptr);
    if (result == WBEM_S_NO_MORE_DATA) break;
    if (FAILED(result)) break;
    absl::StatusOr<Value> value = ToValue(*variant, type);
    properties.insert_or_assign(name.ToUtf8(),
                                value.ok() ? *std::move(value) : Value::Unreadable(value.status()));
  }
  if (FAILED(result)) return ComError(result, absl::StrCat("reading an instance of ", class_name));
  object->EndEnumeration();
  return Object(class_name, std::move(path), std::move(properties));
}

absl::Status PutProperties(const Properties& properties, absl::string_view what, const Spawn& spawn,
                           IWbemClassObject* instance) {
  for (const auto& [name, value] : properties) {
    const std::string which = absl::StrCat(what, "(", name, ")");
    const std::wstring wide = win32::Utf16(name);
    Variant present;
    CIMTYPE type = CIM_EMPTY;
    if (FAILED(instance->Get(wide.c_str(), 0, present.Receive(), &type, nullptr))) {
      return HresultStatus(hresult::kInvalidMethodParameters, which, "there is no such parameter");
    }
    absl::StatusOr<Variant> variant = ToVariant(value, type, spawn);
    if (!variant.ok()) return Prefixed(which, variant.status());
    // Passes 0 as the type, because the property of an instance already has a type
    // (learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemclassobject-put).
    const HRESULT result = instance->Put(wide.c_str(), 0, variant->get(), 0);
    if (FAILED(result)) return ComError(result, which);
  }
  return absl::OkStatus();
}

absl::Status ComError(HRESULT result, absl::string_view what) {
  ComPtr<IErrorInfo> info;
  std::string detail;
  if (GetErrorInfo(0, info.Receive()) == S_OK) {
    if (const auto object = info.As<IWbemClassObject>(IID_IWbemClassObject)) {
      const absl::StatusOr<Object> error = ToObject(object.get());
      if (error.ok()) return ErrorObjectStatus(static_cast<uint32_t>(result), what, *error);
    } else {
      Bstr text;
      if (SUCCEEDED(info->GetDescription(text.Receive()))) detail = text.ToUtf8();
    }
  }
  return HresultStatus(static_cast<uint32_t>(result), what, detail);
}

}  // namespace csi_proxy::cim

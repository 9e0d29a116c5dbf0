#include "integration/wine/double/dispatch_windows.h"

#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/match.h"

namespace csi_proxy::node_double {
namespace {

// Assigns DISPIDs to member names of all objects: the index of a name plus 1, because 0 is
// DISPID_VALUE.
class Names {
 public:
  DISPID IdOf(const std::string& name) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < names_.size(); ++i) {
      if (absl::EqualsIgnoreCase(names_[i], name)) return static_cast<DISPID>(i + 1);
    }
    names_.push_back(name);
    return static_cast<DISPID>(names_.size());
  }
  std::optional<std::string> Find(DISPID id) {
    if (id == DISPID_NEWENUM) return "_NewEnum";
    const std::lock_guard lock(mutex_);
    if (id < 1 || static_cast<size_t>(id) > names_.size()) return std::nullopt;
    return names_[static_cast<size_t>(id - 1)];
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> names_;  // guarded by mutex_
};

Names& AllNames() {
  static auto* const names = new Names();
  return *names;
}

// Moves the thread's error object to `exception`, where Automation clients look for it.
HRESULT AsException(HRESULT result, EXCEPINFO* exception) {
  if (exception == nullptr) return result;
  *exception = {};
  exception->scode = result;
  cim::ComPtr<IErrorInfo> info;
  if (GetErrorInfo(0, info.Receive()) == S_OK) info->GetDescription(&exception->bstrDescription);
  return DISP_E_EXCEPTION;
}

}  // namespace

VARIANT* DispatchArguments::Passed(size_t index) const {
  // DISPPARAMS lists arguments in reverse.
  return index < size() ? &params_.rgvarg[size() - 1 - index] : nullptr;
}

const VARIANT& DispatchArguments::At(size_t index) const {
  static const VARIANT kNone{};
  const VARIANT* passed = Passed(index);
  if (passed == nullptr || V_VT(passed) == VT_ERROR) return kNone;
  return V_VT(passed) == (VT_VARIANT | VT_BYREF) ? *V_VARIANTREF(passed) : *passed;
}

std::string DispatchArguments::Text(size_t index) const {
  const VARIANT& value = At(index);
  return V_VT(&value) == VT_BSTR ? cim::Bstr::Utf8(V_BSTR(&value)) : "";
}

LONG DispatchArguments::Number(size_t index, LONG otherwise) const {
  const VARIANT& value = At(index);
  return V_VT(&value) == VT_I4 || V_VT(&value) == VT_UI4 ? V_I4(&value) : otherwise;
}

HRESULT Dispatch::GetTypeInfoCount(UINT* count) {
  if (count == nullptr) return E_POINTER;
  *count = 0;
  return S_OK;
}

HRESULT Dispatch::GetIDsOfNames(REFIID, LPOLESTR* names, UINT count, LCID, DISPID* ids) {
  if (names == nullptr || ids == nullptr || count == 0) return E_INVALIDARG;
  // Names after the first are parameter names, which are not supported.
  for (UINT i = 0; i < count; ++i) ids[i] = DISPID_UNKNOWN;
  const std::string name = win32::Utf8(names[0]);
  if (!HasMember(name)) return DISP_E_UNKNOWNNAME;
  ids[0] = AllNames().IdOf(name);
  return count == 1 ? S_OK : DISP_E_UNKNOWNNAME;
}

HRESULT Dispatch::Invoke(DISPID id, REFIID, LCID, WORD flags, DISPPARAMS* params, VARIANT* result,
                         EXCEPINFO* exception, UINT*) {
  const std::optional<std::string> name = AllNames().Find(id);
  if (!name.has_value()) return DISP_E_MEMBERNOTFOUND;
  const DISPPARAMS none{};
  const DispatchKind kind = (flags & DISPATCH_PROPERTYPUT) != 0 ? DispatchKind::kPut
                            : (flags & DISPATCH_METHOD) != 0    ? DispatchKind::kMethod
                                                                : DispatchKind::kGet;
  cim::Variant answer;
  SetErrorInfo(0, nullptr);
  const HRESULT called =
      Call(*name, kind, DispatchArguments(params == nullptr ? none : *params), answer.get());
  if (called == DISP_E_MEMBERNOTFOUND) return called;
  if (FAILED(called)) return AsException(called, exception);
  if (result != nullptr) {
    *result = *answer;
    VariantInit(answer.get());
  }
  return S_OK;
}

HRESULT GiveDispatch(cim::ComPtr<IDispatch> object, VARIANT* result) {
  V_VT(result) = VT_DISPATCH;
  V_DISPATCH(result) = HandOut(object);
  return S_OK;
}

}  // namespace csi_proxy::node_double

#include <string>
#include <utility>

#include "integration/wine/double/error_info_windows.h"
#include "integration/wine/double/wmi_calls_windows.h"
#include "server/machine/windows/cim/testing/com_objects_windows.h"

namespace csi_proxy::node_double {
namespace {

using cim::Bstr;
using cim::ComPtr;

class Services final : public cim::ServicesBase {
 public:
  Services(wmi::SimulatedSession* session, cim::Namespace space) : wmi_{*session, space} {}

  HRESULT STDMETHODCALLTYPE ExecQuery(const BSTR language, const BSTR query, LONG flags,
                                      IWbemContext* context,
                                      IEnumWbemClassObject** found) override {
    constexpr LONG kKnown =
        WBEM_FLAG_RETURN_IMMEDIATELY | WBEM_FLAG_FORWARD_ONLY | WBEM_FLAG_ENSURE_LOCATABLE;
    if (query == nullptr || found == nullptr || context != nullptr || (flags & ~kKnown) != 0) {
      return WBEM_E_INVALID_PARAMETER;
    }
    *found = nullptr;
    if (language == nullptr || _wcsicmp(language, L"WQL") != 0) {
      return Fail(WBEM_E_INVALID_QUERY_TYPE, "ExecQuery", Bstr::Utf8(language));
    }
    const std::string wql = Bstr::Utf8(query);
    const bool locatable = (flags & WBEM_FLAG_ENSURE_LOCATABLE) != 0;
    auto pending = Pending<Objects>::Begin([wmi = wmi_, wql, locatable](const CallContext& call) {
      return wmi.Query(call, wql, locatable);
    });
    // Only without WBEM_FLAG_RETURN_IMMEDIATELY does this call return the query's error.
    if ((flags & WBEM_FLAG_RETURN_IMMEDIATELY) == 0) {
      pending->Wait(WBEM_INFINITE);
      if (!pending->result().ok()) return Fail(pending->result().status(), "ExecQuery", wql);
    }
    *found = HandOut(NewEnumerator(std::move(pending), wql, (flags & WBEM_FLAG_FORWARD_ONLY) != 0));
    return WBEM_S_NO_ERROR;
  }

  HRESULT STDMETHODCALLTYPE GetObject(const BSTR path, LONG flags, IWbemContext* context,
                                      IWbemClassObject** object,
                                      IWbemCallResult** result) override {
    // A null path would return an empty class to fill in, which is not supported.
    if (path == nullptr) return E_NOTIMPL;
    return Call("GetObject", Bstr::Utf8(path), flags, context, object, result,
                [wmi = wmi_, path = Bstr::Utf8(path)](const CallContext& call) {
                  return wmi.Get(call, path);
                });
  }

  HRESULT STDMETHODCALLTYPE ExecMethod(const BSTR path, const BSTR method, LONG flags,
                                       IWbemContext* context, IWbemClassObject* in,
                                       IWbemClassObject** out, IWbemCallResult** result) override {
    if (path == nullptr || method == nullptr) return WBEM_E_INVALID_PARAMETER;
    const ComPtr<WmiObject> parameters = WmiObject::Known(in);
    if (in != nullptr && !parameters) return WBEM_E_INVALID_PARAMETER;
    return Call(
        "ExecMethod", Bstr::Utf8(path), flags, context, out, result,
        [wmi = wmi_, path = Bstr::Utf8(path), method = Bstr::Utf8(method), parameters](
            const CallContext& call) { return wmi.Invoke(call, path, method, parameters); });
  }

 private:
  // Starts a call that returns one object. With WBEM_FLAG_RETURN_IMMEDIATELY, `result` must point
  // to a null pointer; otherwise `result` must be null.
  template <typename Work>
  static HRESULT Call(const char* operation, std::string path, LONG flags, IWbemContext* context,
                      IWbemClassObject** object, IWbemCallResult** result, Work work) {
    const bool immediate = flags == WBEM_FLAG_RETURN_IMMEDIATELY;
    const bool has_place = result != nullptr && *result == nullptr;
    if (context != nullptr || (flags != 0 && !immediate) ||
        (immediate ? !has_place : result != nullptr)) {
      return WBEM_E_INVALID_PARAMETER;
    }
    if (object != nullptr) *object = nullptr;
    auto pending = Pending<ComPtr<WmiObject>>::Begin(std::move(work));
    if (immediate) {
      *result = HandOut(NewCallResult(std::move(pending), operation, std::move(path)));
      return WBEM_S_NO_ERROR;
    }
    pending->Wait(WBEM_INFINITE);
    if (!pending->result().ok()) return Fail(pending->result().status(), operation, path);
    if (object != nullptr) *object = HandOut(*pending->result());
    return WBEM_S_NO_ERROR;
  }

  const Wmi wmi_;
};

class Locator final : public cim::Unknown<IWbemLocator> {
 public:
  explicit Locator(wmi::SimulatedSession* session) : session_(session) {}

  HRESULT STDMETHODCALLTYPE ConnectServer(const BSTR resource, const BSTR user, const BSTR password,
                                          const BSTR, LONG flags, const BSTR, IWbemContext* context,
                                          IWbemServices** services) override {
    if (resource == nullptr || services == nullptr || context != nullptr ||
        (flags & ~LONG{WBEM_FLAG_CONNECT_USE_MAX_WAIT}) != 0) {
      return WBEM_E_INVALID_PARAMETER;
    }
    *services = nullptr;
    const std::string name = Bstr::Utf8(resource);
    // A client on the same computer cannot log on as another user.
    if (user != nullptr || password != nullptr) {
      return Fail(WBEM_E_LOCAL_CREDENTIALS, "ConnectServer", name);
    }
    const std::optional<cim::Namespace> space = ParseNamespace(name);
    if (!space.has_value()) return Fail(WBEM_E_INVALID_NAMESPACE, "ConnectServer", name);
    *services = new Services(session_, *space);
    return WBEM_S_NO_ERROR;
  }

 private:
  wmi::SimulatedSession* const session_;
};

}  // namespace

ComPtr<IWbemLocator> NewLocator(wmi::SimulatedSession* session) {
  return ComPtr<IWbemLocator>(new Locator(session));
}

}  // namespace csi_proxy::node_double

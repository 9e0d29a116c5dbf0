#include "integration/wine/double/scripting_windows.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration/wine/double/dispatch_windows.h"

namespace csi_proxy::node_double {
namespace {

using absl::EqualsIgnoreCase;
using cim::Bstr;
using cim::ComPtr;

// IEnumVARIANT over the objects of a query.
class Objects final : public cim::Unknown<IEnumVARIANT> {
 public:
  Objects(ComPtr<IEnumWbemClassObject> found, ComPtr<IWbemServices> services)
      : found_(std::move(found)), services_(std::move(services)) {}

  HRESULT STDMETHODCALLTYPE Next(ULONG count, VARIANT* objects, ULONG* given) override {
    if (objects == nullptr) return E_INVALIDARG;
    ULONG done = 0;
    HRESULT result = S_OK;
    for (; done < count && result == S_OK; ++done) {
      ComPtr<IWbemClassObject> next;
      ULONG returned = 0;
      result = found_->Next(WBEM_INFINITE, 1, next.Receive(), &returned);
      if (result != WBEM_S_NO_ERROR || returned == 0) break;
      VariantInit(&objects[done]);
      result = GiveDispatch(NewScriptingObject(std::move(next), services_), &objects[done]);
    }
    if (given != nullptr) *given = done;
    if (FAILED(result)) return result;
    return done == count ? S_OK : S_FALSE;
  }
  HRESULT STDMETHODCALLTYPE Skip(ULONG count) override {
    return found_->Skip(WBEM_INFINITE, count) == WBEM_S_NO_ERROR ? S_OK : S_FALSE;
  }
  HRESULT STDMETHODCALLTYPE Reset() override { return found_->Reset(); }
  NOT_IMPLEMENTED(Clone, IEnumVARIANT**)

 private:
  const ComPtr<IEnumWbemClassObject> found_;
  const ComPtr<IWbemServices> services_;
};

// SWbemObjectSet. Every enumeration begins at the first object.
class ObjectSet final : public Dispatch {
 public:
  ObjectSet(ComPtr<IEnumWbemClassObject> found, ComPtr<IWbemServices> services)
      : found_(std::move(found)), services_(std::move(services)) {}

 protected:
  bool HasMember(const std::string& name) override { return EqualsIgnoreCase(name, "_NewEnum"); }
  HRESULT Call(const std::string& name, DispatchKind, const DispatchArguments&,
               VARIANT* result) override {
    if (!HasMember(name)) return DISP_E_MEMBERNOTFOUND;
    ComPtr<IEnumWbemClassObject> from_the_first;
    const HRESULT cloned = found_->Clone(from_the_first.Receive());
    if (FAILED(cloned)) return cloned;
    V_VT(result) = VT_UNKNOWN;
    V_UNKNOWN(result) = new Objects(std::move(from_the_first), services_);
    return S_OK;
  }

 private:
  const ComPtr<IEnumWbemClassObject> found_;
  const ComPtr<IWbemServices> services_;
};

// SWbemSecurity. The levels can be set, without effect: all calls stay in this process.
class Security final : public Dispatch {
 protected:
  bool HasMember(const std::string& name) override {
    return EqualsIgnoreCase(name, "ImpersonationLevel") ||
           EqualsIgnoreCase(name, "AuthenticationLevel");
  }
  HRESULT Call(const std::string& name, DispatchKind kind, const DispatchArguments& arguments,
               VARIANT*) override {
    if (!HasMember(name) || kind != DispatchKind::kPut) return DISP_E_MEMBERNOTFOUND;
    if (arguments.Number(0, 0) <= 0) return WBEM_E_INVALID_PARAMETER;
    return S_OK;
  }
};

class Services final : public Dispatch {
 public:
  explicit Services(ComPtr<IWbemServices> services) : services_(std::move(services)) {}

 protected:
  bool HasMember(const std::string& name) override {
    return EqualsIgnoreCase(name, "ExecQuery") || EqualsIgnoreCase(name, "Get") ||
           EqualsIgnoreCase(name, "Security_");
  }
  HRESULT Call(const std::string& name, DispatchKind, const DispatchArguments& arguments,
               VARIANT* result) override {
    if (EqualsIgnoreCase(name, "Security_")) {
      return GiveDispatch(ComPtr<IDispatch>(new Security), result);
    }
    if (EqualsIgnoreCase(name, "ExecQuery")) {
      // Arguments: query, language, flags
      // (learn.microsoft.com/windows/win32/wmisdk/swbemservices-execquery gives their default).
      return GiveObjectSet(services_, arguments.Text(0),
                           arguments.Number(2, WBEM_FLAG_RETURN_IMMEDIATELY), result);
    }
    if (!EqualsIgnoreCase(name, "Get")) return DISP_E_MEMBERNOTFOUND;
    ComPtr<IWbemClassObject> object;
    const HRESULT got =
        services_->GetObject(Bstr(arguments.Text(0)).get(), 0, nullptr, object.Receive(), nullptr);
    if (FAILED(got)) return got;
    return GiveDispatch(NewScriptingObject(std::move(object), services_), result);
  }

 private:
  const ComPtr<IWbemServices> services_;
};

class Locator final : public Dispatch {
 public:
  // Clients query for SWbemLocator, but then call it late bound.
  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override {
    static constexpr IID kSWbemLocator = {
        0x76a6415b, 0xcb41, 0x11d1, {0x8b, 0x02, 0x00, 0x60, 0x08, 0x06, 0xd9, 0xb6}};
    return Dispatch::QueryInterface(iid == kSWbemLocator ? IID_IDispatch : iid, out);
  }

 protected:
  bool HasMember(const std::string& name) override {
    return EqualsIgnoreCase(name, "ConnectServer");
  }
  // Arguments: server, namespace, user, password, locale, authority, flags. Empty text counts as
  // omitted (learn.microsoft.com/windows/win32/wmisdk/swbemlocator-connectserver).
  HRESULT Call(const std::string& name, DispatchKind, const DispatchArguments& arguments,
               VARIANT* result) override {
    if (!HasMember(name)) return DISP_E_MEMBERNOTFOUND;
    const std::string server = arguments.Text(0);
    const Bstr resource(server.empty() ? arguments.Text(1)
                                       : absl::StrCat("\\\\", server, "\\", arguments.Text(1)));
    const Bstr user = OrNull(arguments.Text(2));
    const Bstr password = OrNull(arguments.Text(3));
    const Bstr locale = OrNull(arguments.Text(4));
    const Bstr authority = OrNull(arguments.Text(5));
    ComPtr<IWbemLocator> locator;
    HRESULT connected =
        CoCreateInstance(CLSID_WbemLocator, nullptr, CLSCTX_INPROC_SERVER, IID_IWbemLocator,
                         reinterpret_cast<void**>(locator.Receive()));
    if (FAILED(connected)) return connected;
    ComPtr<IWbemServices> services;
    connected = locator->ConnectServer(resource.get(), user.get(), password.get(), locale.get(),
                                       arguments.Number(6, 0), authority.get(), nullptr,
                                       services.Receive());
    if (FAILED(connected)) return connected;
    return GiveDispatch(ComPtr<IDispatch>(new Services(std::move(services))), result);
  }

 private:
  static Bstr OrNull(const std::string& text) { return text.empty() ? Bstr() : Bstr(text); }
};

}  // namespace

HRESULT GiveObjectSet(const ComPtr<IWbemServices>& services, const std::string& wql, LONG flags,
                      VARIANT* result) {
  // WBEM_FLAG_ENSURE_LOCATABLE is always set: on Windows, too, methods work on an object found by
  // `SELECT IsOffline` alone, which is how the Go release sets a disk offline.
  ComPtr<IEnumWbemClassObject> found;
  const HRESULT begun =
      services->ExecQuery(Bstr("WQL").get(), Bstr(wql).get(), flags | WBEM_FLAG_ENSURE_LOCATABLE,
                          nullptr, found.Receive());
  if (FAILED(begun)) return begun;
  return GiveDispatch(ComPtr<IDispatch>(new ObjectSet(std::move(found), services)), result);
}

ComPtr<IDispatch> NewScriptingLocator() { return ComPtr<IDispatch>(new Locator); }

}  // namespace csi_proxy::node_double

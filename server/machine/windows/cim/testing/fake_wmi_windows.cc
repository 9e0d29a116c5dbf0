#include "server/machine/windows/cim/testing/fake_wmi_windows.h"

#include <utility>

namespace csi_proxy::cim {
namespace {

FakeWmi* current = nullptr;

class FakeSecurity : public Unknown<IClientSecurity> {
 public:
  HRESULT STDMETHODCALLTYPE SetBlanket(IUnknown*, DWORD, DWORD, OLECHAR*, DWORD authentication,
                                       DWORD impersonation, void*, DWORD) override {
    const std::lock_guard lock(current->mutex);
    current->blankets.push_back({authentication, impersonation});
    return S_OK;
  }
  NOT_IMPLEMENTED(QueryBlanket, IUnknown*, DWORD*, DWORD*, OLECHAR**, DWORD*, DWORD*, void**,
                  DWORD*)
  NOT_IMPLEMENTED(CopyProxy, IUnknown*, IUnknown**)
};

HRESULT Fail(HRESULT result, const FakeReply& reply) {
  if (FAILED(result) && reply.error) {
    reply.error->AddRef();
    const ComPtr<ErrorInfo> info(new ErrorInfo(ComPtr<IWbemClassObject>(reply.error.get()), ""));
    SetErrorInfo(0, info.get());
  }
  return result;
}

class FakeEnumerator : public FakeUnknown<EnumeratorBase> {
 public:
  explicit FakeEnumerator(FakeReply reply) : reply_(std::move(reply)) {}

  HRESULT STDMETHODCALLTYPE Next(LONG timeout, ULONG count, IWbemClassObject** objects,
                                 ULONG* returned) override {
    ++current->nexts;
    const size_t there = next_ < reply_.first ? reply_.first : reply_.objects.size();
    for (*returned = 0; *returned < count && next_ < there; ++*returned) {
      objects[*returned] = reply_.objects[next_++].get();
      objects[*returned]->AddRef();
    }
    if (*returned == count) return WBEM_S_NO_ERROR;
    if (next_ < reply_.objects.size()) return WBEM_S_TIMEDOUT;
    if (FAILED(reply_.end) && *returned > 0) return WBEM_S_TIMEDOUT;
    if (FAILED(reply_.end)) return Fail(reply_.end, reply_);
    if (!reply_.hangs) return WBEM_S_FALSE;
    Sleep(static_cast<DWORD>(timeout));
    return WBEM_S_TIMEDOUT;
  }

 private:
  const FakeReply reply_;
  size_t next_ = 0;
};

class FakeCallResult : public FakeUnknown<CallResultBase> {
 public:
  explicit FakeCallResult(FakeReply reply) : reply_(std::move(reply)) {}

  // Returns the result at the second call, so that every client must wait. Returns
  // none if the reply hangs.
  HRESULT STDMETHODCALLTYPE GetResultObject(LONG timeout, IWbemClassObject** object) override {
    if (reply_.hangs) Sleep(static_cast<DWORD>(timeout));
    if (reply_.hangs || !std::exchange(asked_, true)) return WBEM_S_TIMEDOUT;
    if (FAILED(reply_.end)) return Fail(reply_.end, reply_);
    if (reply_.objects.empty()) return WBEM_S_NO_ERROR;
    *object = reply_.objects[0].get();
    (*object)->AddRef();
    return WBEM_S_NO_ERROR;
  }

 private:
  const FakeReply reply_;
  bool asked_ = false;
};

// Begins a call that returns an object or an IWbemCallResult. Returns WBEM_E_INVALID_PARAMETER for
// flags that the product does not use, and unless `pending` points to null.
HRESULT Begin(FakeReply reply, LONG flags, IWbemClassObject** object, IWbemCallResult** pending) {
  if (flags != WBEM_FLAG_RETURN_IMMEDIATELY || pending == nullptr || *pending != nullptr) {
    return WBEM_E_INVALID_PARAMETER;
  }
  if (FAILED(reply.begin)) return Fail(reply.begin, reply);
  if (reply.at_once) {
    *object = reply.objects[0].get();
    (*object)->AddRef();
  } else {
    *pending = new FakeCallResult(std::move(reply));
  }
  return WBEM_S_NO_ERROR;
}

class FakeServices : public FakeUnknown<ServicesBase> {
 public:
  HRESULT STDMETHODCALLTYPE ExecQuery(const BSTR language, const BSTR query, LONG flags,
                                      IWbemContext*, IEnumWbemClassObject** found) override {
    constexpr LONG kFlags =
        WBEM_FLAG_FORWARD_ONLY | WBEM_FLAG_RETURN_IMMEDIATELY | WBEM_FLAG_ENSURE_LOCATABLE;
    if (std::wstring(language) != L"WQL" || flags != kFlags) return WBEM_E_INVALID_PARAMETER;
    FakeReply reply = current->query(query);
    if (FAILED(reply.begin)) return Fail(reply.begin, reply);
    *found = new FakeEnumerator(std::move(reply));
    return WBEM_S_NO_ERROR;
  }
  HRESULT STDMETHODCALLTYPE GetObject(const BSTR path, LONG flags, IWbemContext*,
                                      IWbemClassObject** object,
                                      IWbemCallResult** pending) override {
    return Begin(current->get(path), flags, object, pending);
  }
  HRESULT STDMETHODCALLTYPE ExecMethod(const BSTR path, const BSTR method, LONG flags,
                                       IWbemContext*, IWbemClassObject* in, IWbemClassObject** out,
                                       IWbemCallResult** pending) override {
    return Begin(current->method(path, method, static_cast<FakeObject*>(in)), flags, out, pending);
  }
};

class FakeLocator : public FakeUnknown<Unknown<IWbemLocator>> {
 public:
  HRESULT STDMETHODCALLTYPE ConnectServer(const BSTR space, const BSTR user, const BSTR password,
                                          const BSTR, LONG flags, const BSTR, IWbemContext*,
                                          IWbemServices** services) override {
    if (user != nullptr || password != nullptr || flags != WBEM_FLAG_CONNECT_USE_MAX_WAIT) {
      return WBEM_E_INVALID_PARAMETER;
    }
    const HRESULT result = current->connect ? current->connect(space) : S_OK;
    if (SUCCEEDED(result)) *services = new FakeServices;
    return result;
  }
};

class FakeFactory : public Unknown<IClassFactory> {
 public:
  HRESULT STDMETHODCALLTYPE CreateInstance(IUnknown*, REFIID iid, void** out) override {
    return ComPtr<FakeLocator>(new FakeLocator)->QueryInterface(iid, out);
  }
  HRESULT STDMETHODCALLTYPE LockServer(BOOL) override { return S_OK; }
};

}  // namespace

HRESULT AsProxy(REFIID iid, void** out) {
  if (current == nullptr || !current->has_proxies) return E_NOINTERFACE;
  return ComPtr<FakeSecurity>(new FakeSecurity)->QueryInterface(iid, out);
}

void FakeObject::Set(const std::wstring& name, absl::string_view text) {
  Property& property = properties[name];
  property.type = CIM_STRING;
  property.value.Clear();
  V_VT(property.value.get()) = VT_BSTR;
  V_BSTR(property.value.get()) = Bstr(text).Release();
}

void FakeObject::Set(const std::wstring& name, CIMTYPE type, LONG value) {
  Property& property = properties[name];
  property.type = type;
  property.value.Clear();
  V_VT(property.value.get()) = VT_I4;
  V_I4(property.value.get()) = value;
}

HRESULT FakeObject::Get(LPCWSTR name, LONG, VARIANT* value, CIMTYPE* type, LONG*) {
  const std::wstring key = name;
  if (key == L"__CLASS" || key == L"__RELPATH") {
    const std::wstring& text = key == L"__CLASS" ? class_name_ : path_;
    V_VT(value) = text.empty() ? VT_NULL : VT_BSTR;
    if (!text.empty()) V_BSTR(value) = SysAllocString(text.c_str());
    return WBEM_S_NO_ERROR;
  }
  const auto found = properties.find(key);
  if (found == properties.end()) return WBEM_E_NOT_FOUND;
  if (type != nullptr) *type = found->second.type;
  return VariantCopy(value, found->second.value.get());
}

HRESULT FakeObject::Put(LPCWSTR name, LONG, VARIANT* value, CIMTYPE type) {
  if (type != 0 || properties.count(name) == 0) return WBEM_E_INVALID_PARAMETER;
  if (FAILED(put)) return put;
  return VariantCopy(properties[name].value.Receive(), value);
}

HRESULT FakeObject::BeginEnumeration(LONG flags) {
  if (flags != WBEM_FLAG_NONSYSTEM_ONLY) return WBEM_E_INVALID_PARAMETER;
  next_ = properties.begin();
  return WBEM_S_NO_ERROR;
}

HRESULT FakeObject::Next(LONG, BSTR* name, VARIANT* value, CIMTYPE* type, LONG*) {
  if (next_ == properties.end()) return WBEM_S_NO_MORE_DATA;
  *name = SysAllocString(next_->first.c_str());
  *type = next_->second.type;
  VariantInit(value);
  return VariantCopy(value, (next_++)->second.value.get());
}

HRESULT FakeObject::SpawnInstance(LONG, IWbemClassObject** instance) {
  ComPtr<FakeObject> spawned = New(class_name_);
  for (const auto& [name, property] : properties) spawned->Declare(name, property.type);
  spawned->put = put;
  spawned->AddRef();
  *instance = spawned.get();
  return WBEM_S_NO_ERROR;
}

HRESULT FakeObject::GetMethod(LPCWSTR name, LONG, IWbemClassObject** in, IWbemClassObject** out) {
  const auto method = methods.find(name);
  if (method == methods.end()) return WBEM_E_NOT_FOUND;
  if (out != nullptr) return WBEM_E_INVALID_PARAMETER;
  if (method->second) method->second->AddRef();
  *in = method->second.get();
  return WBEM_S_NO_ERROR;
}

FakeWmiServer::FakeWmiServer(FakeWmi* wmi) {
  CO_MTA_USAGE_COOKIE cookie;
  CoIncrementMTAUsage(&cookie);
  current = wmi;
  const ComPtr<FakeFactory> factory(new FakeFactory);
  CoRegisterClassObject(CLSID_WbemLocator, factory.get(), CLSCTX_INPROC_SERVER, REGCLS_MULTIPLEUSE,
                        &registration_);
}

FakeWmiServer::~FakeWmiServer() {
  CoRevokeClassObject(registration_);
  current = nullptr;
}

}  // namespace csi_proxy::cim

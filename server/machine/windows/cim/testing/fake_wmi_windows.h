// A fake WMI in the test's process, which does at will what a real one does not: fail at each step,
// hang, restart, count calls and references that are still held.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "server/machine/windows/cim/com_windows.h"
#include "server/machine/windows/cim/testing/com_objects_windows.h"

namespace csi_proxy::cim {

// Counts the fake's COM objects that are not released yet.
inline int FakesAlive() { return objects_alive; }

// Makes the interfaces of the fake pass for proxies, with a proxy's security.
HRESULT AsProxy(REFIID iid, void** out);

// An interface of the fake's.
template <typename Base>
class FakeUnknown : public Base {
 public:
  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override {
    if (iid == IID_IClientSecurity && SUCCEEDED(AsProxy(iid, out))) return S_OK;
    return Base::QueryInterface(iid, out);
  }
};

// A class, an instance, or the parameters of a method. For one thread at a time, as it cannot be
// assumed of WMI's either.
class FakeObject : public FakeUnknown<ClassObjectBase> {
 public:
  struct Property {
    CIMTYPE type;
    Variant value;
  };

  static ComPtr<FakeObject> New(std::wstring class_name, std::wstring path = L"") {
    ComPtr<FakeObject> object(new FakeObject);
    object->class_name_ = std::move(class_name);
    object->path_ = std::move(path);
    return object;
  }

  std::map<std::wstring, Property> properties;
  // The methods of a class: the parameters of each, or null.
  std::map<std::wstring, ComPtr<FakeObject>> methods;
  // The answer of Put().
  HRESULT put = WBEM_S_NO_ERROR;

  // A property with text, or a VT_I4, or none.
  void Set(const std::wstring& name, absl::string_view text);
  void Set(const std::wstring& name, CIMTYPE type, LONG value);
  void Declare(const std::wstring& name, CIMTYPE type) { properties[name].type = type; }

  HRESULT STDMETHODCALLTYPE Get(LPCWSTR, LONG, VARIANT*, CIMTYPE*, LONG*) override;
  HRESULT STDMETHODCALLTYPE Put(LPCWSTR, LONG, VARIANT*, CIMTYPE) override;
  HRESULT STDMETHODCALLTYPE BeginEnumeration(LONG) override;
  HRESULT STDMETHODCALLTYPE Next(LONG, BSTR*, VARIANT*, CIMTYPE*, LONG*) override;
  HRESULT STDMETHODCALLTYPE EndEnumeration() override { return WBEM_S_NO_ERROR; }
  HRESULT STDMETHODCALLTYPE SpawnInstance(LONG, IWbemClassObject**) override;
  HRESULT STDMETHODCALLTYPE GetMethod(LPCWSTR, LONG, IWbemClassObject**,
                                      IWbemClassObject**) override;

 private:
  std::wstring class_name_;
  std::wstring path_;
  std::map<std::wstring, Property>::iterator next_;
};

// The course of a call.
struct FakeReply {
  // The result of the call itself.
  HRESULT begin = WBEM_S_NO_ERROR;
  // The call itself hands out the first object.
  bool at_once = false;
  // The operation never ends.
  bool hangs = false;
  // The result of the operation; of a query, after its objects.
  HRESULT end = WBEM_S_NO_ERROR;
  std::vector<ComPtr<FakeObject>> objects;
  // The number of a query's objects that come before the caller has waited once; 0: all.
  size_t first = 0;
  // The error object of a failure, for GetErrorInfo.
  ComPtr<FakeObject> error;
};

// The behaviour of the fake. Called by any thread.
struct FakeWmi {
  std::function<HRESULT(const std::wstring& space)> connect;
  std::function<FakeReply(const std::wstring& wql)> query;
  std::function<FakeReply(const std::wstring& path)> get;
  std::function<FakeReply(const std::wstring& path, const std::wstring& method, FakeObject* in)>
      method;

  // The number of times that any query was asked for its next objects.
  std::atomic<int> nexts = 0;

  // Its interfaces pass for proxies, and `blankets` has the arguments of each SetBlanket.
  bool has_proxies = false;
  struct Blanket {
    DWORD authentication_level;
    DWORD impersonation_level;
  };
  std::mutex mutex;
  std::vector<Blanket> blankets;
};

// While it exists, creating a WbemLocator gives the fake. Only one at a time.
class FakeWmiServer {
 public:
  explicit FakeWmiServer(FakeWmi* wmi);
  ~FakeWmiServer();

 private:
  DWORD registration_ = 0;
};

}  // namespace csi_proxy::cim

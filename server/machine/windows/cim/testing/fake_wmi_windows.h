// A fake WMI in the test's process. A test can make it fail at any step, hang or restart. Counts
// its living objects and the calls of Next().
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

// Returns the number of the fake's COM objects that have not been released.
inline int FakesAlive() { return objects_alive; }

// Returns a proxy's security interface, or E_NOINTERFACE unless FakeWmi::has_proxies.
HRESULT AsProxy(REFIID iid, void** out);

// Base class of the fake's interfaces.
template <typename Base>
class FakeUnknown : public Base {
 public:
  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override {
    if (iid == IID_IClientSecurity && SUCCEEDED(AsProxy(iid, out))) return S_OK;
    return Base::QueryInterface(iid, out);
  }
};

// A class, an instance, or the parameters of a method. Not thread-safe, like WMI's own.
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
  // The in-parameters of each method of a class. Null if the method has none.
  std::map<std::wstring, ComPtr<FakeObject>> methods;
  // The result of Put().
  HRESULT put = WBEM_S_NO_ERROR;

  // Set a property to text or to a VT_I4. Declare() adds a property without a value.
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

// The course of a call in the fake.
struct FakeReply {
  // The result of the call that begins the operation.
  HRESULT begin = WBEM_S_NO_ERROR;
  // True if the call itself returns the first object.
  bool at_once = false;
  // True if the operation never ends.
  bool hangs = false;
  // The operation's result. A query returns its result after its objects.
  HRESULT end = WBEM_S_NO_ERROR;
  std::vector<ComPtr<FakeObject>> objects;
  // The number of a query's objects that come before the first wait; 0 for all.
  size_t first = 0;
  // The error object for GetErrorInfo().
  ComPtr<FakeObject> error;
};

// The behaviour of the fake. Functions must be thread-safe.
struct FakeWmi {
  std::function<HRESULT(const std::wstring& space)> connect;
  std::function<FakeReply(const std::wstring& wql)> query;
  std::function<FakeReply(const std::wstring& path)> get;
  std::function<FakeReply(const std::wstring& path, const std::wstring& method, FakeObject* in)>
      method;

  // The number of calls of Next() for all queries.
  std::atomic<int> nexts = 0;

  // If true, the interfaces pass for proxies, and `blankets` records each SetBlanket().
  bool has_proxies = false;
  struct Blanket {
    DWORD authentication_level;
    DWORD impersonation_level;
  };
  std::mutex mutex;
  std::vector<Blanket> blankets;
};

// While a FakeWmiServer exists, COM creates the fake's WbemLocator. Only one FakeWmiServer may
// exist at a time.
class FakeWmiServer {
 public:
  explicit FakeWmiServer(FakeWmi* wmi);
  ~FakeWmiServer();

 private:
  DWORD registration_ = 0;
};

}  // namespace csi_proxy::cim

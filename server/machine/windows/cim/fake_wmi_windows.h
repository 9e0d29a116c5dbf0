// A WMI of the test's own, in this process, for what a real one cannot be made to do at will: fail
// at each step, hang, restart, count who asks and who still holds a reference.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::cim {

// How many COM objects of the fake are not released yet.
int FakesAlive();

// IUnknown for one interface.
template <typename Interface>
class FakeUnknown : public Interface {
 public:
  FakeUnknown();
  FakeUnknown(const FakeUnknown&) = delete;
  virtual ~FakeUnknown();
  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override;
  ULONG STDMETHODCALLTYPE AddRef() override { return ++references_; }
  ULONG STDMETHODCALLTYPE Release() override {
    const ULONG left = --references_;
    if (left == 0) delete this;
    return left;
  }

 private:
  std::atomic<ULONG> references_ = 1;
};

// The name and types of a method a test has no use for.
#define FAKE_UNUSED(name, ...) \
  HRESULT STDMETHODCALLTYPE name(__VA_ARGS__) override { return WBEM_E_NOT_SUPPORTED; }

// A class, an instance, or the parameters of a method. For one thread at a time, as it cannot be
// assumed of WMI's either.
class FakeObject : public FakeUnknown<IWbemClassObject> {
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
  // Of a class: what each takes, or null.
  std::map<std::wstring, ComPtr<FakeObject>> methods;
  // What Put() answers.
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
  FAKE_UNUSED(GetQualifierSet, IWbemQualifierSet**)
  FAKE_UNUSED(Delete, LPCWSTR)
  FAKE_UNUSED(GetNames, LPCWSTR, LONG, VARIANT*, SAFEARRAY**)
  FAKE_UNUSED(GetPropertyQualifierSet, LPCWSTR, IWbemQualifierSet**)
  FAKE_UNUSED(Clone, IWbemClassObject**)
  FAKE_UNUSED(GetObjectText, LONG, BSTR*)
  FAKE_UNUSED(SpawnDerivedClass, LONG, IWbemClassObject**)
  FAKE_UNUSED(CompareTo, LONG, IWbemClassObject*)
  FAKE_UNUSED(GetPropertyOrigin, LPCWSTR, BSTR*)
  FAKE_UNUSED(InheritsFrom, LPCWSTR)
  FAKE_UNUSED(PutMethod, LPCWSTR, LONG, IWbemClassObject*, IWbemClassObject*)
  FAKE_UNUSED(DeleteMethod, LPCWSTR)
  FAKE_UNUSED(BeginMethodEnumeration, LONG)
  FAKE_UNUSED(NextMethod, LONG, BSTR*, IWbemClassObject**, IWbemClassObject**)
  FAKE_UNUSED(EndMethodEnumeration)
  FAKE_UNUSED(GetMethodQualifierSet, LPCWSTR, IWbemQualifierSet**)
  FAKE_UNUSED(GetMethodOrigin, LPCWSTR, BSTR*)

 private:
  std::wstring class_name_;
  std::wstring path_;
  std::map<std::wstring, Property>::iterator next_;
};

// How a call goes.
struct FakeReply {
  // What the call itself returns.
  HRESULT begin = WBEM_S_NO_ERROR;
  // Whether the first object is handed out by the call itself.
  bool at_once = false;
  // Whether what it began never ends.
  bool hangs = false;
  // How what it began ends; a query, after its objects.
  HRESULT end = WBEM_S_NO_ERROR;
  std::vector<ComPtr<FakeObject>> objects;
  // What GetErrorInfo has of a failure.
  ComPtr<FakeObject> error;
};

// What the fake does. Called by any thread.
struct FakeWmi {
  std::function<HRESULT(const std::wstring& space)> connect;
  std::function<FakeReply(const std::wstring& wql)> query;
  std::function<FakeReply(const std::wstring& path)> get;
  std::function<FakeReply(const std::wstring& path, const std::wstring& method, FakeObject* in)>
      method;

  // Whether its interfaces pass for proxies, and what SetBlanket was given, one entry a call.
  bool has_proxies = false;
  struct Blanket {
    DWORD authentication_level;
    DWORD impersonation_level;
  };
  std::mutex mutex;
  std::vector<Blanket> blankets;
};

// While it exists, who creates a WbemLocator gets the fake. Only one at a time.
class FakeWmiServer {
 public:
  explicit FakeWmiServer(FakeWmi* wmi);
  ~FakeWmiServer();

 private:
  DWORD registration_ = 0;
};

}  // namespace csi_proxy::cim

// Base classes of the fake WMI in this folder and of the double under Wine. Their objects belong to
// no apartment, so any thread may call the objects.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::cim {

// The number of COM objects that have not been released.
inline std::atomic<int> objects_alive = 0;

// Implements IUnknown for one interface.
template <typename Interface>
class Unknown : public Interface {
 public:
  Unknown() { ++objects_alive; }
  Unknown(const Unknown&) = delete;

  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override {
    if (out == nullptr) return E_POINTER;
    const bool known = iid == IID_IUnknown || iid == __uuidof(Interface);
    *out = known ? static_cast<Interface*>(this) : nullptr;
    if (!known) return E_NOINTERFACE;
    AddRef();
    return S_OK;
  }
  ULONG STDMETHODCALLTYPE AddRef() override { return ++references_; }
  ULONG STDMETHODCALLTYPE Release() override {
    const ULONG left = --references_;
    if (left == 0) delete this;
    return left;
  }

 protected:
  virtual ~Unknown() { --objects_alive; }

 private:
  std::atomic<ULONG> references_ = 1;
};

// Returns a reference that the caller of a COM method must release.
template <typename Class>
Class* HandOut(const ComPtr<Class>& object) {
  if (object) object->AddRef();
  return object.get();
}

// Defines a method that no client calls.
#define NOT_IMPLEMENTED(name, ...) \
  HRESULT STDMETHODCALLTYPE name(__VA_ARGS__) override { return E_NOTIMPL; }

// WMI's interfaces. Methods that our clients do not call return E_NOTIMPL.

class ServicesBase : public Unknown<IWbemServices> {
 public:
  NOT_IMPLEMENTED(OpenNamespace, BSTR, LONG, IWbemContext*, IWbemServices**, IWbemCallResult**)
  NOT_IMPLEMENTED(CancelAsyncCall, IWbemObjectSink*)
  NOT_IMPLEMENTED(QueryObjectSink, LONG, IWbemObjectSink**)
  NOT_IMPLEMENTED(GetObjectAsync, BSTR, LONG, IWbemContext*, IWbemObjectSink*)
  NOT_IMPLEMENTED(PutClass, IWbemClassObject*, LONG, IWbemContext*, IWbemCallResult**)
  NOT_IMPLEMENTED(PutClassAsync, IWbemClassObject*, LONG, IWbemContext*, IWbemObjectSink*)
  NOT_IMPLEMENTED(DeleteClass, BSTR, LONG, IWbemContext*, IWbemCallResult**)
  NOT_IMPLEMENTED(DeleteClassAsync, BSTR, LONG, IWbemContext*, IWbemObjectSink*)
  NOT_IMPLEMENTED(CreateClassEnum, BSTR, LONG, IWbemContext*, IEnumWbemClassObject**)
  NOT_IMPLEMENTED(CreateClassEnumAsync, BSTR, LONG, IWbemContext*, IWbemObjectSink*)
  NOT_IMPLEMENTED(PutInstance, IWbemClassObject*, LONG, IWbemContext*, IWbemCallResult**)
  NOT_IMPLEMENTED(PutInstanceAsync, IWbemClassObject*, LONG, IWbemContext*, IWbemObjectSink*)
  NOT_IMPLEMENTED(DeleteInstance, BSTR, LONG, IWbemContext*, IWbemCallResult**)
  NOT_IMPLEMENTED(DeleteInstanceAsync, BSTR, LONG, IWbemContext*, IWbemObjectSink*)
  NOT_IMPLEMENTED(CreateInstanceEnum, BSTR, LONG, IWbemContext*, IEnumWbemClassObject**)
  NOT_IMPLEMENTED(CreateInstanceEnumAsync, BSTR, LONG, IWbemContext*, IWbemObjectSink*)
  NOT_IMPLEMENTED(ExecQueryAsync, BSTR, BSTR, LONG, IWbemContext*, IWbemObjectSink*)
  NOT_IMPLEMENTED(ExecNotificationQuery, BSTR, BSTR, LONG, IWbemContext*, IEnumWbemClassObject**)
  NOT_IMPLEMENTED(ExecNotificationQueryAsync, BSTR, BSTR, LONG, IWbemContext*, IWbemObjectSink*)
  NOT_IMPLEMENTED(ExecMethodAsync, BSTR, BSTR, LONG, IWbemContext*, IWbemClassObject*,
                  IWbemObjectSink*)
};

class ClassObjectBase : public Unknown<IWbemClassObject> {
 public:
  NOT_IMPLEMENTED(GetQualifierSet, IWbemQualifierSet**)
  NOT_IMPLEMENTED(Delete, LPCWSTR)
  NOT_IMPLEMENTED(GetNames, LPCWSTR, LONG, VARIANT*, SAFEARRAY**)
  NOT_IMPLEMENTED(GetPropertyQualifierSet, LPCWSTR, IWbemQualifierSet**)
  NOT_IMPLEMENTED(Clone, IWbemClassObject**)
  NOT_IMPLEMENTED(GetObjectText, LONG, BSTR*)
  NOT_IMPLEMENTED(SpawnDerivedClass, LONG, IWbemClassObject**)
  NOT_IMPLEMENTED(CompareTo, LONG, IWbemClassObject*)
  NOT_IMPLEMENTED(GetPropertyOrigin, LPCWSTR, BSTR*)
  NOT_IMPLEMENTED(InheritsFrom, LPCWSTR)
  NOT_IMPLEMENTED(PutMethod, LPCWSTR, LONG, IWbemClassObject*, IWbemClassObject*)
  NOT_IMPLEMENTED(DeleteMethod, LPCWSTR)
  NOT_IMPLEMENTED(BeginMethodEnumeration, LONG)
  NOT_IMPLEMENTED(NextMethod, LONG, BSTR*, IWbemClassObject**, IWbemClassObject**)
  NOT_IMPLEMENTED(EndMethodEnumeration)
  NOT_IMPLEMENTED(GetMethodQualifierSet, LPCWSTR, IWbemQualifierSet**)
  NOT_IMPLEMENTED(GetMethodOrigin, LPCWSTR, BSTR*)
};

class EnumeratorBase : public Unknown<IEnumWbemClassObject> {
 public:
  NOT_IMPLEMENTED(Reset)
  NOT_IMPLEMENTED(NextAsync, ULONG, IWbemObjectSink*)
  NOT_IMPLEMENTED(Clone, IEnumWbemClassObject**)
  NOT_IMPLEMENTED(Skip, LONG, ULONG)
};

class CallResultBase : public Unknown<IWbemCallResult> {
 public:
  NOT_IMPLEMENTED(GetCallStatus, LONG, LONG*)
  NOT_IMPLEMENTED(GetResultString, LONG, BSTR*)
  NOT_IMPLEMENTED(GetResultServices, LONG, IWbemServices**)
};

// The object that GetErrorInfo() returns, with Automation's description and WMI's error object.
class ErrorInfo : public Unknown<IErrorInfo> {
 public:
  ErrorInfo(ComPtr<IWbemClassObject> object, std::string description)
      : object_(std::move(object)), description_(std::move(description)) {}

  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override {
    if (iid == IID_IWbemClassObject) return object_->QueryInterface(iid, out);
    return Unknown::QueryInterface(iid, out);
  }
  HRESULT STDMETHODCALLTYPE GetDescription(BSTR* description) override {
    if (description == nullptr) return E_POINTER;
    *description = Bstr(description_).Release();
    return S_OK;
  }
  NOT_IMPLEMENTED(GetGUID, GUID*)
  NOT_IMPLEMENTED(GetSource, BSTR*)
  NOT_IMPLEMENTED(GetHelpFile, BSTR*)
  NOT_IMPLEMENTED(GetHelpContext, DWORD*)

 private:
  const ComPtr<IWbemClassObject> object_;
  const std::string description_;
};

}  // namespace csi_proxy::cim

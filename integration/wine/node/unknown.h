// What the double's COM objects have in common. They belong to no apartment: any thread may call.
#pragma once

#include <atomic>

#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::node_double {

// How many COM objects are not released yet.
inline std::atomic<int> objects_alive = 0;

// IUnknown for one interface.
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

// A reference for the caller of a COM method.
template <typename Class>
Class* HandOut(const cim::ComPtr<Class>& object) {
  if (object) object->AddRef();
  return object.get();
}

// A method of an interface, its name and its types, that nobody is to need.
#define NOT_IMPLEMENTED(name, ...) \
  HRESULT STDMETHODCALLTYPE name(__VA_ARGS__) override { return E_NOTIMPL; }

}  // namespace csi_proxy::node_double

// Automation objects, called late bound: a member by its name, its arguments as VARIANTs.
#pragma once

#include <string>
#include <vector>

#include "server/machine/windows/cim/com_windows.h"
#include "server/machine/windows/cim/testing/com_objects_windows.h"

namespace csi_proxy::node_double {

// The arguments of a call of a member, in the order of its parameters.
class DispatchArguments {
 public:
  explicit DispatchArguments(const DISPPARAMS& params) : params_(params) {}

  size_t size() const { return params_.cArgs; }
  // As it was passed, by reference or not; null behind the last one.
  VARIANT* Passed(size_t index) const;
  // The value of one that was passed by reference too; VT_EMPTY for one that was left out.
  const VARIANT& At(size_t index) const;
  // Text; empty for one that is none.
  std::string Text(size_t index) const;
  LONG Number(size_t index, LONG otherwise) const;

 private:
  const DISPPARAMS& params_;
};

enum class DispatchKind { kMethod, kGet, kPut };

// IDispatch. The members of an object need not be known when it is made.
class Dispatch : public cim::Unknown<IDispatch> {
 public:
  HRESULT STDMETHODCALLTYPE GetTypeInfoCount(UINT* count) override;
  NOT_IMPLEMENTED(GetTypeInfo, UINT, LCID, ITypeInfo**)
  HRESULT STDMETHODCALLTYPE GetIDsOfNames(REFIID iid, LPOLESTR* names, UINT count, LCID locale,
                                          DISPID* ids) override;
  HRESULT STDMETHODCALLTYPE Invoke(DISPID id, REFIID iid, LCID locale, WORD flags,
                                   DISPPARAMS* params, VARIANT* result, EXCEPINFO* exception,
                                   UINT* argument) override;

 protected:
  virtual bool HasMember(const std::string& name) = 0;
  // Calls a member, in whatever case it is written. `result` is empty. DISP_E_MEMBERNOTFOUND.
  virtual HRESULT Call(const std::string& name, DispatchKind kind,
                       const DispatchArguments& arguments, VARIANT* result) = 0;
};

// Fills an empty VARIANT with a reference.
HRESULT GiveDispatch(cim::ComPtr<IDispatch> object, VARIANT* result);

}  // namespace csi_proxy::node_double

// Automation objects for late binding: members are called by name with VARIANT arguments.
#pragma once

#include <string>
#include <vector>

#include "server/machine/windows/cim/com_windows.h"
#include "server/machine/windows/cim/testing/com_objects_windows.h"

namespace csi_proxy::node_double {

// The arguments of a call, in the order of the member's parameters.
class DispatchArguments {
 public:
  explicit DispatchArguments(const DISPPARAMS& params) : params_(params) {}

  size_t size() const { return params_.cArgs; }
  // Returns the argument as passed, possibly by reference; null if there are fewer arguments.
  VARIANT* Passed(size_t index) const;
  // Returns the argument's value, dereferenced; VT_EMPTY if the argument is omitted.
  const VARIANT& At(size_t index) const;
  // Returns the argument's text; empty if the argument is not text.
  std::string Text(size_t index) const;
  LONG Number(size_t index, LONG otherwise) const;

 private:
  const DISPPARAMS& params_;
};

enum class DispatchKind { kMethod, kGet, kPut };

// Base of IDispatch objects. Members are looked up by name at each call, so an object need not
// declare them in advance.
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
  // Calls a member, ignoring the case of `name`. `result` is empty. Returns DISP_E_MEMBERNOTFOUND
  // if there is no such member.
  virtual HRESULT Call(const std::string& name, DispatchKind kind,
                       const DispatchArguments& arguments, VARIANT* result) = 0;
};

// Stores `object` in an empty VARIANT.
HRESULT GiveDispatch(cim::ComPtr<IDispatch> object, VARIANT* result);

}  // namespace csi_proxy::node_double

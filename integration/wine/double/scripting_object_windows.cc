// SWbemObject, its properties and methods.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration/wine/double/dispatch_windows.h"
#include "integration/wine/double/scripting_windows.h"

namespace csi_proxy::node_double {
namespace {

using absl::EqualsIgnoreCase;
using cim::Bstr;
using cim::ComPtr;
using cim::Variant;

// The WMI object behind a scripting object; all parts of the scripting object share it.
struct Source {
  ComPtr<IWbemClassObject> object;
  ComPtr<IWbemServices> services;
  // The definition of the object's class, fetched when it is first needed.
  std::shared_ptr<ComPtr<IWbemClassObject>> definition =
      std::make_shared<ComPtr<IWbemClassObject>>();

  std::string Text(LPCWSTR property) const {
    Variant value;
    object->Get(property, 0, value.Receive(), nullptr, nullptr);
    return V_VT(value.get()) == VT_BSTR ? Bstr::Utf8(V_BSTR(value.get())) : "";
  }
  bool Has(const std::string& property) const {
    return SUCCEEDED(object->Get(win32::Utf16(property).c_str(), 0, nullptr, nullptr, nullptr));
  }
  // Returns a property. An embedded object is wrapped in a scripting object.
  HRESULT Get(const std::string& property, VARIANT* result) const {
    const HRESULT got = object->Get(win32::Utf16(property).c_str(), 0, result, nullptr, nullptr);
    if (FAILED(got) || V_VT(result) != VT_UNKNOWN) return got;
    Variant embedded;
    std::swap(*embedded.get(), *result);
    const ComPtr<IUnknown> unknown(HandOutUnknown(*embedded));
    return GiveDispatch(
        NewScriptingObject(unknown.As<IWbemClassObject>(IID_IWbemClassObject), services), result);
  }
  HRESULT Put(const std::string& property, const VARIANT& value) const {
    return object->Put(win32::Utf16(property).c_str(), 0, const_cast<VARIANT*>(&value), 0);
  }
  // Finds the signature of a method. Only the class definition has signatures (learn.microsoft.com/
  // windows/win32/api/wbemcli/nf-wbemcli-iwbemclassobject-getmethod), so an instance fetches the
  // definition. No page says how often Windows fetches it for one object; this double fetches it
  // once.
  HRESULT GetMethod(const std::string& method, ComPtr<IWbemClassObject>* in,
                    ComPtr<IWbemClassObject>* out) const {
    if (!*definition && IsClass()) *definition = object;
    if (!*definition) {
      const HRESULT got = services->GetObject(Bstr(Text(L"__CLASS")).get(), 0, nullptr,
                                              definition->Receive(), nullptr);
      if (FAILED(got)) return got;
    }
    return (*definition)->GetMethod(win32::Utf16(method).c_str(), 0, in->Receive(), out->Receive());
  }
  HRESULT Execute(const std::string& method, IWbemClassObject* in,
                  ComPtr<IWbemClassObject>* out) const {
    return services->ExecMethod(Bstr(Text(L"__RELPATH")).get(), Bstr(method).get(), 0, nullptr, in,
                                out->Receive(), nullptr);
  }

 private:
  bool IsClass() const {
    Variant genus;
    object->Get(L"__GENUS", 0, genus.Receive(), nullptr, nullptr);
    return V_VT(genus.get()) == VT_I4 && V_I4(genus.get()) == WBEM_GENUS_CLASS;
  }
  static IUnknown* HandOutUnknown(const VARIANT& value) {
    V_UNKNOWN(&value)->AddRef();
    return V_UNKNOWN(&value);
  }
};

// Returns the names of the object's properties.
std::vector<std::wstring> NamesOf(IWbemClassObject* object) {
  std::vector<std::wstring> names;
  object->BeginEnumeration(WBEM_FLAG_NONSYSTEM_ONLY);
  Bstr name;
  while (object->Next(0, name.Receive(), nullptr, nullptr, nullptr) == WBEM_S_NO_ERROR) {
    names.emplace_back(name.get(), name.size());
  }
  return names;
}

// SWbemProperty (learn.microsoft.com/windows/win32/wmisdk/swbemproperty).
class Property final : public Dispatch {
 public:
  Property(Source source, std::string name) : source_(std::move(source)), name_(std::move(name)) {}

 protected:
  bool HasMember(const std::string& name) override {
    return EqualsIgnoreCase(name, "Value") || EqualsIgnoreCase(name, "Name");
  }
  HRESULT Call(const std::string& name, DispatchKind kind, const DispatchArguments& arguments,
               VARIANT* result) override {
    if (EqualsIgnoreCase(name, "Name") && kind != DispatchKind::kPut) {
      V_VT(result) = VT_BSTR;
      V_BSTR(result) = Bstr(name_).Release();
      return S_OK;
    }
    if (!EqualsIgnoreCase(name, "Value")) return DISP_E_MEMBERNOTFOUND;
    if (kind == DispatchKind::kPut) return source_.Put(name_, arguments.At(0));
    return source_.Get(name_, result);
  }

 private:
  const Source source_;
  const std::string name_;
};

// IEnumVARIANT over the properties of an object.
class Properties final : public cim::Unknown<IEnumVARIANT> {
 public:
  explicit Properties(Source source)
      : source_(std::move(source)), names_(NamesOf(source_.object.get())) {}

  HRESULT STDMETHODCALLTYPE Next(ULONG count, VARIANT* properties, ULONG* given) override {
    if (properties == nullptr) return E_INVALIDARG;
    ULONG done = 0;
    for (; done < count && next_ < names_.size(); ++done) {
      const std::string name = win32::Utf8(names_[next_++]);
      VariantInit(&properties[done]);
      GiveDispatch(ComPtr<IDispatch>(new Property(source_, name)), &properties[done]);
    }
    if (given != nullptr) *given = done;
    return done == count ? S_OK : S_FALSE;
  }
  NOT_IMPLEMENTED(Skip, ULONG)
  HRESULT STDMETHODCALLTYPE Reset() override { return E_NOTIMPL; }
  NOT_IMPLEMENTED(Clone, IEnumVARIANT**)

 private:
  const Source source_;
  const std::vector<std::wstring> names_;
  size_t next_ = 0;
};

// SWbemPropertySet. Enumerates the properties of the class, also for SystemProperties_.
class PropertySet final : public Dispatch {
 public:
  explicit PropertySet(Source source) : source_(std::move(source)) {}

 protected:
  bool HasMember(const std::string& name) override {
    return EqualsIgnoreCase(name, "Item") || EqualsIgnoreCase(name, "_NewEnum");
  }
  HRESULT Call(const std::string& name, DispatchKind, const DispatchArguments& arguments,
               VARIANT* result) override {
    if (!HasMember(name)) return DISP_E_MEMBERNOTFOUND;
    if (EqualsIgnoreCase(name, "_NewEnum")) {
      V_VT(result) = VT_UNKNOWN;
      V_UNKNOWN(result) = new Properties(source_);
      return S_OK;
    }
    const std::string property = arguments.Text(0);
    if (!source_.Has(property)) return WBEM_E_NOT_FOUND;
    return GiveDispatch(ComPtr<IDispatch>(new Property(source_, property)), result);
  }

 private:
  const Source source_;
};

class Method final : public Dispatch {
 public:
  Method(ComPtr<IWbemClassObject> in, ComPtr<IWbemServices> services)
      : in_(std::move(in)), services_(std::move(services)) {}

 protected:
  bool HasMember(const std::string& name) override {
    return EqualsIgnoreCase(name, "InParameters");
  }
  HRESULT Call(const std::string& name, DispatchKind, const DispatchArguments&,
               VARIANT* result) override {
    if (!HasMember(name)) return DISP_E_MEMBERNOTFOUND;
    return GiveDispatch(in_ ? NewScriptingObject(in_, services_) : ComPtr<IDispatch>(), result);
  }

 private:
  // Null for a method without in parameters.
  const ComPtr<IWbemClassObject> in_;
  const ComPtr<IWbemServices> services_;
};

class MethodSet final : public Dispatch {
 public:
  explicit MethodSet(Source source) : source_(std::move(source)) {}

 protected:
  bool HasMember(const std::string& name) override { return EqualsIgnoreCase(name, "Item"); }
  HRESULT Call(const std::string& name, DispatchKind, const DispatchArguments& arguments,
               VARIANT* result) override {
    if (!HasMember(name)) return DISP_E_MEMBERNOTFOUND;
    ComPtr<IWbemClassObject> in;
    ComPtr<IWbemClassObject> out;
    const HRESULT got = source_.GetMethod(arguments.Text(0), &in, &out);
    if (FAILED(got)) return got;
    return GiveDispatch(ComPtr<IDispatch>(new Method(std::move(in), source_.services)), result);
  }

 private:
  const Source source_;
};

// QueryInterface() with this id returns the Object itself.
constexpr IID kScriptingObject = {
    0x3c3f5b52, 0x1e7a, 0x4d0e, {0xa0, 0x4b, 0x2f, 0x69, 0x51, 0x90, 0x6c, 0x33}};

class Object final : public Dispatch {
 public:
  explicit Object(Source source) : source_(std::move(source)) {}

  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override {
    if (out == nullptr || iid != kScriptingObject) return Dispatch::QueryInterface(iid, out);
    AddRef();
    *out = this;
    return S_OK;
  }

 protected:
  bool HasMember(const std::string& name) override {
    for (const char* const own : {"Associators_", "ExecMethod_", "Methods_", "Properties_",
                                  "Refresh_", "SpawnInstance_", "SystemProperties_"}) {
      if (EqualsIgnoreCase(name, own)) return true;
    }
    ComPtr<IWbemClassObject> in;
    ComPtr<IWbemClassObject> out;
    return source_.Has(name) || SUCCEEDED(source_.GetMethod(name, &in, &out));
  }

  HRESULT Call(const std::string& name, DispatchKind kind, const DispatchArguments& arguments,
               VARIANT* result) override {
    if (EqualsIgnoreCase(name, "Properties_") || EqualsIgnoreCase(name, "SystemProperties_")) {
      return GiveDispatch(ComPtr<IDispatch>(new PropertySet(source_)), result);
    }
    if (EqualsIgnoreCase(name, "Methods_")) {
      return GiveDispatch(ComPtr<IDispatch>(new MethodSet(source_)), result);
    }
    if (EqualsIgnoreCase(name, "Associators_")) return Associators(arguments, result);
    if (EqualsIgnoreCase(name, "SpawnInstance_")) {
      ComPtr<IWbemClassObject> instance;
      const HRESULT spawned = source_.object->SpawnInstance(0, instance.Receive());
      if (FAILED(spawned)) return spawned;
      return GiveDispatch(NewScriptingObject(std::move(instance), source_.services), result);
    }
    if (EqualsIgnoreCase(name, "Refresh_")) return Refresh();
    if (EqualsIgnoreCase(name, "ExecMethod_")) return ExecMethod(arguments, result);
    if (!source_.Has(name)) return Direct(name, arguments, result);
    if (kind == DispatchKind::kPut) return source_.Put(name, arguments.At(0));
    return source_.Get(name, result);
  }

 private:
  // Builds the query from the clauses that are given. The arguments follow the order of
  // learn.microsoft.com/windows/win32/wmisdk/swbemobject-associators-.
  HRESULT Associators(const DispatchArguments& arguments, VARIANT* result) {
    static constexpr const char* kClauses[] = {"AssocClass", "ResultClass", "ResultRole", "Role"};
    std::string wql = absl::StrCat("ASSOCIATORS OF {", source_.Text(L"__RELPATH"), "} WHERE");
    for (size_t i = 0; i < std::size(kClauses); ++i) {
      const std::string value = arguments.Text(i);
      if (!value.empty()) absl::StrAppend(&wql, " ", kClauses[i], " = ", value);
    }
    return GiveObjectSet(source_.services, wql, WBEM_FLAG_RETURN_IMMEDIATELY, result);
  }

  HRESULT Refresh() {
    ComPtr<IWbemClassObject> now;
    const HRESULT got = source_.services->GetObject(Bstr(source_.Text(L"__RELPATH")).get(), 0,
                                                    nullptr, now.Receive(), nullptr);
    if (SUCCEEDED(got)) source_.object = std::move(now);
    return got;
  }

  // Runs a method. Arguments: the method's name, and its parameters as SpawnInstance_ made them.
  HRESULT ExecMethod(const DispatchArguments& arguments, VARIANT* result) {
    const VARIANT& given = arguments.At(1);
    ComPtr<IWbemClassObject> in;
    if (V_VT(&given) == VT_DISPATCH && V_DISPATCH(&given) != nullptr) {
      void* known = nullptr;
      if (FAILED(V_DISPATCH(&given)->QueryInterface(kScriptingObject, &known))) {
        return WBEM_E_INVALID_PARAMETER;
      }
      const ComPtr<Object> parameters(static_cast<Object*>(known));
      in = parameters->source_.object;
    }
    ComPtr<IWbemClassObject> out;
    const HRESULT ran = source_.Execute(arguments.Text(0), in.get(), &out);
    if (FAILED(ran)) return ran;
    return GiveDispatch(NewScriptingObject(std::move(out), source_.services), result);
  }

  // Calls a method by its name. The arguments follow the parameters' ID qualifiers (learn.microsoft
  // .com/windows/win32/wmisdk/constructing-inparameters-objects-and-parsing-outparameters-objects):
  // in all methods here, in parameters precede out parameters.
  HRESULT Direct(const std::string& method, const DispatchArguments& arguments, VARIANT* result) {
    ComPtr<IWbemClassObject> signature;
    ComPtr<IWbemClassObject> results;
    HRESULT called = source_.GetMethod(method, &signature, &results);
    if (FAILED(called)) return DISP_E_MEMBERNOTFOUND;
    size_t next = 0;
    ComPtr<IWbemClassObject> in;
    if (signature) {
      called = signature->SpawnInstance(0, in.Receive());
      if (FAILED(called)) return called;
      for (const std::wstring& name : NamesOf(signature.get())) {
        const VARIANT& given = arguments.At(next++);
        if (V_VT(&given) == VT_EMPTY) continue;
        called = in->Put(name.c_str(), 0, const_cast<VARIANT*>(&given), 0);
        if (FAILED(called)) return called;
      }
    }
    ComPtr<IWbemClassObject> out;
    called = source_.Execute(method, in.get(), &out);
    if (FAILED(called)) return called;
    for (const std::wstring& name : NamesOf(results.get())) {
      if (name != L"ReturnValue") TakeBack(out.get(), name, arguments.Passed(next++));
    }
    return out->Get(L"ReturnValue", 0, result, nullptr, nullptr);
  }

  // Stores an out parameter in the caller's `place`. A BSTR place accepts only text.
  static void TakeBack(IWbemClassObject* out, const std::wstring& name, VARIANT* place) {
    if (place == nullptr) return;
    Variant value;
    if (FAILED(out->Get(name.c_str(), 0, value.Receive(), nullptr, nullptr))) return;
    if (V_VT(place) == (VT_VARIANT | VT_BYREF)) VariantCopy(V_VARIANTREF(place), value.get());
    if (V_VT(place) == (VT_BSTR | VT_BYREF) && V_VT(value.get()) == VT_BSTR) {
      *V_BSTRREF(place) = std::exchange(V_BSTR(value.get()), nullptr);
    }
  }

  Source source_;
};

}  // namespace

ComPtr<IDispatch> NewScriptingObject(ComPtr<IWbemClassObject> object,
                                     ComPtr<IWbemServices> services) {
  return ComPtr<IDispatch>(new Object({std::move(object), std::move(services)}));
}

}  // namespace csi_proxy::node_double

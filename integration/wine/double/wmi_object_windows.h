#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "integration/wine/double/definition.h"
#include "server/machine/cim/value.h"
#include "server/machine/windows/cim/com_windows.h"
#include "server/machine/windows/cim/testing/com_objects_windows.h"

namespace csi_proxy::node_double {

// IWbemClassObject for classes, instances and method parameters. Thread-safe, but an object
// supports one enumeration at a time.
class WmiObject final : public cim::ClassObjectBase {
 public:
  // Makes a class, or the signature of a method.
  static cim::ComPtr<WmiObject> OfClass(DefinitionPtr definition);
  // Makes an instance, or the parameters of a call. Returns INTERNAL if a value contradicts the
  // definition, which is a bug in the definition: all values come from the simulated node.
  static absl::StatusOr<cim::ComPtr<WmiObject>> OfInstance(DefinitionPtr definition,
                                                           const cim::Properties& values,
                                                           std::string path);
  // Makes an instance of the object's class, which is looked up in `space`.
  static absl::StatusOr<cim::ComPtr<WmiObject>> OfInstance(cim::Namespace space,
                                                           const cim::Object& object);
  // Makes an instance without a path. REQUIRES: the values fit the definition.
  static cim::ComPtr<WmiObject> OfValues(DefinitionPtr definition, const cim::Properties& values);

  // Returns the WmiObject behind an interface; null if the object is not from this double.
  static cim::ComPtr<WmiObject> Known(IUnknown* object);

  const DefinitionPtr& definition() const { return definition_; }
  // Returns the object with its non-null properties.
  cim::Object ToObject() const;
  // Returns the non-null properties with the VARIANT types that Put() received or Get() would
  // return: `Size VT_BSTR, Full VT_BOOL`.
  std::string ToTypes() const;

  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override;
  HRESULT STDMETHODCALLTYPE Get(LPCWSTR name, LONG flags, VARIANT* value, CIMTYPE* type,
                                LONG* flavor) override;
  HRESULT STDMETHODCALLTYPE Put(LPCWSTR name, LONG flags, VARIANT* value, CIMTYPE type) override;
  HRESULT STDMETHODCALLTYPE GetNames(LPCWSTR qualifier, LONG flags, VARIANT* qualifier_value,
                                     SAFEARRAY** names) override;
  HRESULT STDMETHODCALLTYPE BeginEnumeration(LONG flags) override;
  HRESULT STDMETHODCALLTYPE Next(LONG flags, BSTR* name, VARIANT* value, CIMTYPE* type,
                                 LONG* flavor) override;
  HRESULT STDMETHODCALLTYPE EndEnumeration() override;
  HRESULT STDMETHODCALLTYPE SpawnInstance(LONG flags, IWbemClassObject** instance) override;
  HRESULT STDMETHODCALLTYPE GetMethod(LPCWSTR name, LONG flags, IWbemClassObject** in,
                                      IWbemClassObject** out) override;

 private:
  // A property in an enumeration. System properties come first.
  struct Column {
    Member member;
    cim::Value value;
    bool is_system = false;
  };

  WmiObject(DefinitionPtr definition, bool is_class, std::string path)
      : definition_(std::move(definition)),
        is_class_(is_class),
        path_(std::move(path)),
        values_(definition_->members.size()) {}

  std::vector<Column> SystemColumns() const;
  // Selects the columns of BeginEnumeration() and GetNames(). Returns false if the flags are
  // invalid.
  bool Select(LONG flags, std::vector<Column>* columns) const;
  HRESULT Give(const Column& column, VARIANT* value, CIMTYPE* type, LONG* flavor) const;

  const DefinitionPtr definition_;
  const bool is_class_;
  // `__RELPATH`; empty if the object has none or the query did not ask for it.
  const std::string path_;

  mutable std::mutex mutex_;
  std::vector<cim::Value> values_;  // guarded by mutex_, like all fields below
  // The VARIANT types that Put() received, by member.
  std::map<size_t, VARTYPE> given_;
  std::vector<Column> enumerated_;
  size_t next_ = 0;
  bool is_enumerating_ = false;
};

// The rules by which WMI passes values in VARIANTs (variant_rules_windows.cc). They are written
// from the documentation, not from the product's variant_windows.h, so that neither repeats the
// other's mistakes.

// Returns the type of a property, with CIM_FLAG_ARRAY for an array.
CIMTYPE CimTypeOf(const Member& member);
// Returns the type of the VARIANTs that hold the property's values.
VARTYPE CarrierOf(const Member& member);

// Converts `value`, which is null or of the type of `member`, to the VARIANT that Get() and Next()
// return (learn.microsoft.com/windows/win32/wmisdk/numbers, .../strings, .../mof-arrays). The class
// of an embedded object is looked up in `space`.
absl::StatusOr<cim::Variant> GiveVariant(const Member& member, const cim::Value& value,
                                         cim::Namespace space);

// Converts a VARIANT to the value that Put() stores. Other types are coerced as Automation does,
// except where the documentation of Put()
// (learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemclassobject-put) or of numbers
// (64-bit VARIANTs) forbids it. Returns WBEM_E_TYPE_MISMATCH if the value cannot be stored.
absl::StatusOr<cim::Value> TakeVariant(const Member& member, const VARIANT& variant);

// Returns this computer's name, the value of `__SERVER`.
const std::string& ServerName();

}  // namespace csi_proxy::node_double

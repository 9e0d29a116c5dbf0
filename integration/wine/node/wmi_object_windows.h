// IWbemClassObject: classes, instances, and the parameters of methods.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "integration/wine/node/definition.h"
#include "server/machine/cim/value.h"
#include "server/machine/windows/cim/com_windows.h"
#include "server/machine/windows/cim/testing/com_objects_windows.h"

namespace csi_proxy::node_double {

// Thread-safe, an enumeration apart, of which there is one at a time.
class WmiObject final : public cim::ClassObjectBase {
 public:
  // A class, or the signature of a method.
  static cim::ComPtr<WmiObject> OfClass(DefinitionPtr definition);
  // An instance, such as the parameters of a call. INTERNAL when a value is not what the definition
  // says, which then is wrong itself: nobody but the simulated node makes such.
  static absl::StatusOr<cim::ComPtr<WmiObject>> OfInstance(DefinitionPtr definition,
                                                           const cim::Properties& values,
                                                           std::string path);
  // An instance of a class, wherever it is embedded.
  static absl::StatusOr<cim::ComPtr<WmiObject>> OfInstance(cim::Namespace space,
                                                           const cim::Object& object);
  // The same where nothing can be wrong, for an object without a path.
  static cim::ComPtr<WmiObject> OfValues(DefinitionPtr definition, const cim::Properties& values);

  // The object behind an interface; none if it is not of this double.
  static cim::ComPtr<WmiObject> Known(IUnknown* object);

  const DefinitionPtr& definition() const { return definition_; }
  // All properties that are not null.
  cim::Object ToObject() const;
  // The same with the types of their VARIANTs, as Put() was given them or Get() would give them:
  // `Size VT_BSTR, Full VT_BOOL`.
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
  // A property as it is enumerated, system properties first.
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
  // Keeps the columns that BeginEnumeration() and GetNames() give for these flags; false for flags
  // that are none.
  bool Select(LONG flags, std::vector<Column>* columns) const;
  HRESULT Give(const Column& column, VARIANT* value, CIMTYPE* type, LONG* flavor) const;

  const DefinitionPtr definition_;
  const bool is_class_;
  // `__RELPATH`; empty where an object has none, or WMI would not tell it.
  const std::string path_;

  mutable std::mutex mutex_;
  std::vector<cim::Value> values_;  // guarded by mutex_, as is what follows
  // The types of what was Put(), by index.
  std::map<size_t, VARTYPE> given_;
  std::vector<Column> enumerated_;
  size_t next_ = 0;
  bool is_enumerating_ = false;
};

// The name of this computer, as `__SERVER` has it.
const std::string& ServerName();

}  // namespace csi_proxy::node_double

#include "integration/wine/double/wmi_object_windows.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "integration/wine/double/call_record_windows.h"
#include "integration/wine/double/error_info_windows.h"
#include "server/platform/win32.h"

namespace csi_proxy::node_double {
namespace {

using cim::ComPtr;
using cim::Type;
using cim::Value;

// QueryInterface() with this id returns the WmiObject itself.
constexpr IID kWmiObjectId = {
    0x7bf0a0e4, 0x3a55, 0x4a0e, {0x9c, 0x5b, 0x51, 0x5c, 0x1f, 0x2d, 0x70, 0x11}};

// Values of __GENUS.
constexpr int64_t kGenusClass = 1;
constexpr int64_t kGenusInstance = 2;

Value TextOrNull(const std::string& text) {
  return text.empty() ? Value::Null(Type::kString) : Value::String(text);
}

// Returns true if `value` is null or has the type of the property.
bool Fits(const Member& member, const Value& value) {
  return value.is_null() || (value.type() == member.type && value.is_array() == member.is_array);
}

}  // namespace

const std::string& ServerName() {
  static const auto* const kName = [] {
    wchar_t name[MAX_COMPUTERNAME_LENGTH + 1];
    DWORD size = MAX_COMPUTERNAME_LENGTH + 1;
    return new std::string(GetComputerNameW(name, &size) ? win32::Utf8({name, size}) : ".");
  }();
  return *kName;
}

ComPtr<WmiObject> WmiObject::OfClass(DefinitionPtr definition) {
  // The path of a class is its name. Parameters have no path.
  std::string path = definition->is_system ? "" : definition->name;
  return ComPtr<WmiObject>(new WmiObject(std::move(definition), true, std::move(path)));
}

absl::StatusOr<ComPtr<WmiObject>> WmiObject::OfInstance(DefinitionPtr definition,
                                                        const cim::Properties& values,
                                                        std::string path) {
  ComPtr<WmiObject> object(new WmiObject(std::move(definition), false, std::move(path)));
  const Definition& of = *object->definition_;
  for (const auto& [name, value] : values) {
    const std::optional<size_t> index = of.Find(name);
    if (!index.has_value() || !Fits(of.members[*index], value)) {
      return absl::InternalError(
          absl::StrCat(of.name, ".", name, " is not defined as ", value.DebugString()));
    }
    object->values_[*index] = value;
  }
  return object;
}

absl::StatusOr<ComPtr<WmiObject>> WmiObject::OfInstance(cim::Namespace space,
                                                        const cim::Object& object) {
  const wmi::Class* of = wmi::FindClass(space, object.class_name());
  if (of == nullptr) return absl::InternalError(absl::StrCat("no class ", object.class_name()));
  return OfInstance(DefinitionOf(*of), object.properties(), object.path());
}

ComPtr<WmiObject> WmiObject::OfValues(DefinitionPtr definition, const cim::Properties& values) {
  return *OfInstance(std::move(definition), values, "");
}

ComPtr<WmiObject> WmiObject::Known(IUnknown* object) {
  void* known = nullptr;
  if (object == nullptr || FAILED(object->QueryInterface(kWmiObjectId, &known))) return {};
  return ComPtr<WmiObject>(static_cast<WmiObject*>(known));
}

cim::Object WmiObject::ToObject() const {
  const std::lock_guard lock(mutex_);
  cim::Properties properties;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i].is_null()) properties.emplace(definition_->members[i].name, values_[i]);
  }
  return cim::Object(definition_->name, path_, std::move(properties));
}

std::string WmiObject::ToTypes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> types;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].is_null()) continue;
    const Member& member = definition_->members[i];
    const auto given = given_.find(i);
    const VARTYPE type = given == given_.end() ? CarrierOf(member) : given->second;
    types.push_back(absl::StrCat(member.name, " ", VariantTypeName(type)));
  }
  return absl::StrJoin(types, ", ");
}

HRESULT WmiObject::QueryInterface(REFIID iid, void** out) {
  if (out == nullptr || iid != kWmiObjectId) return ClassObjectBase::QueryInterface(iid, out);
  AddRef();
  *out = this;
  return S_OK;
}

std::vector<WmiObject::Column> WmiObject::SystemColumns() const {
  const auto column = [](const char* name, Value value) {
    return Column{{name, value.type(), false, false, false}, std::move(value), true};
  };
  const std::string where(cim::NamespaceName(definition_->space));
  const bool has_path = !path_.empty();
  return {column("__GENUS", Value::Signed(Type::kSint32, is_class_ ? kGenusClass : kGenusInstance)),
          column("__CLASS", Value::String(definition_->name)),
          column("__RELPATH", TextOrNull(path_)),
          column("__SERVER", TextOrNull(has_path ? ServerName() : "")),
          column("__NAMESPACE", TextOrNull(has_path ? where : "")),
          column("__PATH",
                 TextOrNull(has_path ? absl::StrCat("\\\\", ServerName(), "\\", where, ":", path_)
                                     : ""))};
}

bool WmiObject::Select(LONG flags, std::vector<Column>* columns) const {
  const LONG kind = flags & (WBEM_FLAG_KEYS_ONLY | WBEM_FLAG_REFS_ONLY);
  const LONG origin = flags & WBEM_MASK_CONDITION_ORIGIN;
  if (flags != (kind | origin) || origin > WBEM_FLAG_NONSYSTEM_ONLY) return false;
  const bool wants_system = origin == 0 || origin == WBEM_FLAG_SYSTEM_ONLY;
  if (wants_system && kind == 0) *columns = SystemColumns();
  // No class here has a parent, so no property is inherited.
  if (origin == WBEM_FLAG_SYSTEM_ONLY || origin == WBEM_FLAG_PROPAGATED_ONLY) return true;
  for (size_t i = 0; i < values_.size(); ++i) {
    const Member& member = definition_->members[i];
    if ((kind & WBEM_FLAG_KEYS_ONLY) != 0 && !member.is_key) continue;
    if ((kind & WBEM_FLAG_REFS_ONLY) != 0 && member.type != Type::kReference) continue;
    columns->push_back({member, values_[i], false});
  }
  return true;
}

HRESULT WmiObject::Give(const Column& column, VARIANT* value, CIMTYPE* type, LONG* flavor) const {
  if (value != nullptr) {
    absl::StatusOr<cim::Variant> variant =
        GiveVariant(column.member, column.value, definition_->space);
    if (!variant.ok()) return Fail(variant.status(), "Get", column.member.name);
    *value = **variant;
    VariantInit(variant->get());
  }
  if (type != nullptr) *type = CimTypeOf(column.member);
  if (flavor != nullptr) {
    *flavor = column.is_system ? WBEM_FLAVOR_ORIGIN_SYSTEM : WBEM_FLAVOR_ORIGIN_LOCAL;
  }
  return WBEM_S_NO_ERROR;
}

HRESULT WmiObject::Get(LPCWSTR name, LONG flags, VARIANT* value, CIMTYPE* type, LONG* flavor) {
  if (name == nullptr || flags != 0) return WBEM_E_INVALID_PARAMETER;
  const std::string wanted = win32::Utf8(name);
  const std::lock_guard lock(mutex_);
  if (const std::optional<size_t> index = definition_->Find(wanted); index.has_value()) {
    return Give({definition_->members[*index], values_[*index]}, value, type, flavor);
  }
  for (const Column& column : SystemColumns()) {
    if (absl::EqualsIgnoreCase(column.member.name, wanted)) {
      return Give(column, value, type, flavor);
    }
  }
  return Fail(WBEM_E_NOT_FOUND, "Get", wanted);
}

HRESULT WmiObject::Put(LPCWSTR name, LONG flags, VARIANT* value, CIMTYPE cim_type) {
  if (name == nullptr || flags != 0) return WBEM_E_INVALID_PARAMETER;
  // The type of an instance's property cannot be changed.
  if (cim_type != 0) return WBEM_E_INVALID_PARAMETER;
  // Creating classes is not supported.
  if (is_class_) return E_NOTIMPL;
  const std::string wanted = win32::Utf8(name);
  if (absl::StartsWith(wanted, "__")) return Fail(WBEM_E_READ_ONLY, "Put", wanted);
  const std::optional<size_t> index = definition_->Find(wanted);
  if (!index.has_value()) return Fail(WBEM_E_NOT_FOUND, "Put", wanted);
  const Member& member = definition_->members[*index];
  VARIANT null;
  V_VT(&null) = VT_NULL;
  absl::StatusOr<Value> taken = TakeVariant(member, value == nullptr ? null : *value);
  const VARTYPE type = value == nullptr ? VARTYPE{VT_NULL} : V_VT(value);
  if (!taken.ok()) {
    RecordCall("refused", definition_->name, "Put",
               absl::StrCat(member.name, " ", VariantTypeName(type)), "");
    return Fail(taken.status(), "Put", wanted);
  }
  const std::lock_guard lock(mutex_);
  given_[*index] = type;
  values_[*index] = *std::move(taken);
  return WBEM_S_NO_ERROR;
}

HRESULT WmiObject::GetNames(LPCWSTR qualifier, LONG flags, VARIANT*, SAFEARRAY** names) {
  // Refuses a qualifier, because the double has none.
  if (names == nullptr || qualifier != nullptr) return WBEM_E_INVALID_PARAMETER;
  std::vector<Column> columns;
  const std::lock_guard lock(mutex_);
  if (!Select(flags, &columns)) return WBEM_E_INVALID_PARAMETER;
  *names = SafeArrayCreateVector(VT_BSTR, 0, static_cast<ULONG>(columns.size()));
  for (LONG i = 0; i < static_cast<LONG>(columns.size()); ++i) {
    SafeArrayPutElement(*names, &i, cim::Bstr(columns[i].member.name).get());
  }
  return WBEM_S_NO_ERROR;
}

HRESULT WmiObject::BeginEnumeration(LONG flags) {
  std::vector<Column> columns;
  const std::lock_guard lock(mutex_);
  if (!Select(flags, &columns)) return WBEM_E_INVALID_PARAMETER;
  enumerated_ = std::move(columns);
  next_ = 0;
  is_enumerating_ = true;
  return WBEM_S_NO_ERROR;
}

HRESULT WmiObject::Next(LONG flags, BSTR* name, VARIANT* value, CIMTYPE* type, LONG* flavor) {
  if (flags != 0) return WBEM_E_INVALID_PARAMETER;
  const std::lock_guard lock(mutex_);
  if (!is_enumerating_) return WBEM_E_UNEXPECTED;
  if (next_ == enumerated_.size()) return WBEM_S_NO_MORE_DATA;
  const Column& column = enumerated_[next_];
  const HRESULT given = Give(column, value, type, flavor);
  if (FAILED(given)) return given;
  if (name != nullptr) *name = cim::Bstr(column.member.name).Release();
  ++next_;
  return WBEM_S_NO_ERROR;
}

HRESULT WmiObject::EndEnumeration() {
  const std::lock_guard lock(mutex_);
  is_enumerating_ = false;
  enumerated_.clear();
  return WBEM_S_NO_ERROR;
}

HRESULT WmiObject::SpawnInstance(LONG flags, IWbemClassObject** instance) {
  if (flags != 0 || instance == nullptr) return WBEM_E_INVALID_PARAMETER;
  if (!is_class_) return Fail(WBEM_E_ILLEGAL_OPERATION, "SpawnInstance", definition_->name);
  *instance = HandOut(OfValues(definition_, {}));
  return WBEM_S_NO_ERROR;
}

HRESULT WmiObject::GetMethod(LPCWSTR name, LONG flags, IWbemClassObject** in,
                             IWbemClassObject** out) {
  if (name == nullptr || flags != 0) return WBEM_E_INVALID_PARAMETER;
  const std::string wanted = win32::Utf8(name);
  if (!is_class_) return Fail(WBEM_E_ILLEGAL_OPERATION, "GetMethod", wanted);
  const MethodDefinition* method = definition_->FindMethod(wanted);
  if (method == nullptr) return Fail(WBEM_E_NOT_FOUND, "GetMethod", wanted);
  if (in != nullptr) *in = method->in == nullptr ? nullptr : HandOut(OfClass(method->in));
  if (out != nullptr) *out = HandOut(OfClass(method->out));
  return WBEM_S_NO_ERROR;
}

}  // namespace csi_proxy::node_double

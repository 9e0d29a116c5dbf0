#include "server/machine/cim/value.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status_macros.h"

namespace csi_proxy::cim {

absl::string_view TypeName(Type type) {
  switch (type) {
    case Type::kSint8:
      return "sint8";
    case Type::kUint8:
      return "uint8";
    case Type::kSint16:
      return "sint16";
    case Type::kUint16:
      return "uint16";
    case Type::kSint32:
      return "sint32";
    case Type::kUint32:
      return "uint32";
    case Type::kSint64:
      return "sint64";
    case Type::kUint64:
      return "uint64";
    case Type::kReal32:
      return "real32";
    case Type::kReal64:
      return "real64";
    case Type::kString:
      return "string";
    case Type::kBoolean:
      return "boolean";
    case Type::kObject:
      return "object";
    case Type::kDatetime:
      return "datetime";
    case Type::kReference:
      return "ref";
    case Type::kChar16:
      return "char16";
  }
  return "unknown type";
}

bool IsSigned(Type type) {
  return type == Type::kSint8 || type == Type::kSint16 || type == Type::kSint32 ||
         type == Type::kSint64;
}

bool IsUnsigned(Type type) {
  return type == Type::kUint8 || type == Type::kUint16 || type == Type::kUint32 ||
         type == Type::kUint64 || type == Type::kChar16;
}

bool IsText(Type type) {
  return type == Type::kString || type == Type::kDatetime || type == Type::kReference;
}

Value Value::Embedded(Object object) {
  return Value(Type::kObject, false, std::make_shared<const Object>(std::move(object)));
}

absl::Status Value::IsNot(absl::string_view wanted) const {
  if (!status().ok()) return status();
  return absl::InternalError(
      absl::StrCat("is ", is_null() ? "null" : absl::StrCat(TypeName(type_), is_array_ ? "[]" : ""),
                   ", not ", wanted));
}

absl::StatusOr<bool> Value::AsBoolean() const {
  if (const bool* value = std::get_if<bool>(&data_)) return *value;
  return IsNot("boolean");
}

absl::StatusOr<uint64_t> Value::AsUint64() const {
  if (const uint64_t* value = std::get_if<uint64_t>(&data_)) return *value;
  if (const int64_t* value = std::get_if<int64_t>(&data_); value != nullptr && *value >= 0) {
    return static_cast<uint64_t>(*value);
  }
  return IsNot("an unsigned number");
}

absl::StatusOr<uint32_t> Value::AsUint32() const {
  ABSL_ASSIGN_OR_RETURN(const uint64_t value, AsUint64());
  if (value > std::numeric_limits<uint32_t>::max()) {
    return absl::InternalError(absl::StrCat("is ", value, ", more than a uint32 holds"));
  }
  return static_cast<uint32_t>(value);
}

absl::StatusOr<int64_t> Value::AsSint64() const {
  if (const int64_t* value = std::get_if<int64_t>(&data_)) return *value;
  if (const uint64_t* value = std::get_if<uint64_t>(&data_);
      value != nullptr && *value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return static_cast<int64_t>(*value);
  }
  return IsNot("a signed number");
}

absl::StatusOr<double> Value::AsReal() const {
  if (const double* value = std::get_if<double>(&data_)) return *value;
  return IsNot("a real number");
}

absl::StatusOr<std::string> Value::AsText() const {
  if (const Secret* value = std::get_if<Secret>(&data_)) return value->Reveal();
  return IsNot("text");
}

absl::StatusOr<std::vector<Value>> Value::AsArray() const {
  if (const auto* value = std::get_if<std::vector<Value>>(&data_)) return *value;
  return IsNot("an array");
}

absl::StatusOr<Object> Value::AsObject() const {
  if (const auto* value = std::get_if<std::shared_ptr<const Object>>(&data_)) return **value;
  return IsNot("an object");
}

std::string Value::DebugString() const {
  struct Printer {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(uint64_t value) const { return absl::StrCat(value); }
    std::string operator()(int64_t value) const { return absl::StrCat(value); }
    std::string operator()(double value) const { return absl::StrCat(value); }
    std::string operator()(const Secret& value) const {
      return absl::StrCat("\"", value.Reveal(), "\"");
    }
    std::string operator()(const absl::Status& why) const { return std::string(why.message()); }
    std::string operator()(const std::vector<Value>& values) const {
      return absl::StrCat("{",
                          absl::StrJoin(values, ", ",
                                        [](std::string* out, const Value& value) {
                                          out->append(value.DebugString());
                                        }),
                          "}");
    }
    std::string operator()(const std::shared_ptr<const Object>& value) const {
      return absl::StrCat("instance of ", value->class_name());
    }
  };
  return absl::StrCat(TypeName(type_), is_array_ ? "[] " : " ", std::visit(Printer{}, data_));
}

bool operator==(const Value& a, const Value& b) {
  if (a.is_null() || b.is_null()) return a.is_null() && b.is_null();
  if (a.type_ != b.type_ || a.is_array_ != b.is_array_) return false;
  const auto* x = std::get_if<std::shared_ptr<const Object>>(&a.data_);
  const auto* y = std::get_if<std::shared_ptr<const Object>>(&b.data_);
  if (x != nullptr && y != nullptr) return **x == **y;
  return a.data_ == b.data_;
}

bool NameLess::operator()(absl::string_view a, absl::string_view b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return absl::ascii_tolower(static_cast<unsigned char>(x)) <
           absl::ascii_tolower(static_cast<unsigned char>(y));
  });
}

bool Object::Has(absl::string_view name) const {
  const auto found = properties_.find(name);
  return found != properties_.end() && !found->second.is_null();
}

absl::StatusOr<Value> Object::Get(absl::string_view name) const {
  const auto found = properties_.find(name);
  if (found == properties_.end()) {
    return absl::InternalError(absl::StrCat(class_name_, " has no property ", name));
  }
  if (const absl::Status status = found->second.status(); !status.ok()) {
    return absl::InternalError(absl::StrCat(class_name_, ".", name, " ", status.message()));
  }
  return found->second;
}

namespace {

// Reads a property with `read`. Errors name the class and the property.
template <typename T>
absl::StatusOr<T> Read(const Object& object, absl::string_view name,
                       absl::StatusOr<T> (Value::*read)() const) {
  ABSL_ASSIGN_OR_RETURN(const Value value, object.Get(name));
  absl::StatusOr<T> result = (value.*read)();
  if (result.ok()) return result;
  return absl::InternalError(
      absl::StrCat(object.class_name(), ".", name, " ", result.status().message()));
}

template <typename T>
absl::StatusOr<T> ReadOr(const Object& object, absl::string_view name, T fallback,
                         absl::StatusOr<T> (Value::*read)() const) {
  ABSL_ASSIGN_OR_RETURN(const Value value, object.Get(name));
  if (value.is_null()) return fallback;
  return Read(object, name, read);
}

}  // namespace

absl::StatusOr<std::string> Object::GetString(absl::string_view name) const {
  return Read(*this, name, &Value::AsText);
}
absl::StatusOr<uint32_t> Object::GetUint32(absl::string_view name) const {
  return Read(*this, name, &Value::AsUint32);
}
absl::StatusOr<uint64_t> Object::GetUint64(absl::string_view name) const {
  return Read(*this, name, &Value::AsUint64);
}
absl::StatusOr<bool> Object::GetBoolean(absl::string_view name) const {
  return Read(*this, name, &Value::AsBoolean);
}
absl::StatusOr<std::string> Object::GetStringOr(absl::string_view name,
                                                std::string fallback) const {
  return ReadOr(*this, name, std::move(fallback), &Value::AsText);
}
absl::StatusOr<uint32_t> Object::GetUint32Or(absl::string_view name, uint32_t fallback) const {
  return ReadOr(*this, name, fallback, &Value::AsUint32);
}

}  // namespace csi_proxy::cim

// CIM values and objects, the data of WMI, as plain C++.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "server/base/secret.h"

namespace csi_proxy::cim {

// CIM types, with the numbers of CIMTYPE_ENUMERATION
// (learn.microsoft.com/windows/win32/api/wbemcli/ne-wbemcli-cimtype_enumeration).
enum class Type : uint16_t {
  kSint16 = 2,
  kSint32 = 3,
  kReal32 = 4,
  kReal64 = 5,
  kString = 8,
  kBoolean = 11,
  kObject = 13,
  kSint8 = 16,
  kUint8 = 17,
  kUint16 = 18,
  kUint32 = 19,
  kSint64 = 20,
  kUint64 = 21,
  kDatetime = 101,
  kReference = 102,
  kChar16 = 103,
};

// Returns MOF's name of the type, such as `uint32`.
absl::string_view TypeName(Type type);
bool IsSigned(Type type);
// Returns true for uint8 to uint64 and for char16.
bool IsUnsigned(Type type);
// Returns true for string, datetime and reference, which are stored as text.
bool IsText(Type type);

class Object;

// A value of a CIM type, an array of such values, a null, or an unreadable value: the error of a
// failed conversion. Immutable. Compares by content. Text may be a secret, so its memory is wiped.
class Value {
 public:
  // Makes a null. Nulls of all types are equal.
  Value() = default;
  static Value Null(Type type, bool is_array = false) { return Value(type, is_array, {}); }
  // Makes a value that cannot be read. `why` is the reason, such as `is a VARIANT of type 7`.
  static Value Unreadable(absl::Status why) { return Value(Type::kString, false, std::move(why)); }

  static Value Boolean(bool value) { return Value(Type::kBoolean, false, value); }
  static Value Uint16(uint16_t value) { return Unsigned(Type::kUint16, value); }
  static Value Uint32(uint32_t value) { return Unsigned(Type::kUint32, value); }
  static Value Uint64(uint64_t value) { return Unsigned(Type::kUint64, value); }
  // Makes a UTF-16 unit; WMI uses 0 for no drive letter.
  static Value Char16(char16_t value) { return Unsigned(Type::kChar16, value); }
  static Value String(absl::string_view value) { return Text(Type::kString, value); }
  static Value Embedded(Object object);
  // Make a value of any unsigned, signed, real or text type. REQUIRES: the type can hold `value`.
  static Value Unsigned(Type type, uint64_t value) { return Value(type, false, value); }
  static Value Signed(Type type, int64_t value) { return Value(type, false, value); }
  static Value Real(Type type, double value) { return Value(type, false, value); }
  static Value Text(Type type, absl::string_view value) {
    return Value(type, false, Secret(std::string_view(value.data(), value.size())));
  }
  // Makes an array. REQUIRES: the elements are of `type` and not null.
  static Value Array(Type type, std::vector<Value> elements) {
    return Value(type, true, std::move(elements));
  }

  Type type() const { return type_; }
  bool is_array() const { return is_array_; }
  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }

  // Returns the error of an unreadable value, or OK.
  absl::Status status() const {
    const auto* const why = std::get_if<absl::Status>(&data_);
    return why == nullptr ? absl::OkStatus() : *why;
  }
  // The As functions return the content. If the value is unreadable, they return its status(). They
  // return INTERNAL, naming both kinds, if the value is null or of another kind.
  absl::StatusOr<bool> AsBoolean() const;
  // AsUint64(), AsUint32() and AsSint64() accept any integer or char16 that is in range.
  absl::StatusOr<uint64_t> AsUint64() const;
  absl::StatusOr<uint32_t> AsUint32() const;
  absl::StatusOr<int64_t> AsSint64() const;
  absl::StatusOr<double> AsReal() const;
  absl::StatusOr<std::string> AsText() const;
  absl::StatusOr<std::vector<Value>> AsArray() const;
  absl::StatusOr<Object> AsObject() const;

  // Returns the type and the content for a message: `uint32 7`, `string "text"` or `string null`.
  // REQUIRES: the value is not a secret.
  std::string DebugString() const;

  friend bool operator==(const Value& a, const Value& b);

 private:
  // Objects are held through a pointer because they hold values.
  using Data = std::variant<std::monostate, bool, uint64_t, int64_t, double, Secret,
                            std::vector<Value>, std::shared_ptr<const Object>, absl::Status>;
  Value(Type type, bool is_array, Data data)
      : type_(type), is_array_(is_array), data_(std::move(data)) {}
  absl::Status IsNot(absl::string_view wanted) const;

  Type type_ = Type::kString;
  bool is_array_ = false;
  Data data_;
};

// Compares names of classes, properties, methods and parameters ignoring case, as CIM does.
struct NameLess {
  using is_transparent = void;
  bool operator()(absl::string_view a, absl::string_view b) const;
};
using Properties = std::map<std::string, Value, NameLess>;

// An instance of a class, or the parameters of a method.
class Object {
 public:
  Object() = default;
  Object(std::string class_name, std::string path, Properties properties)
      : class_name_(std::move(class_name)),
        path_(std::move(path)),
        properties_(std::move(properties)) {}

  const std::string& class_name() const { return class_name_; }
  // Returns the path for Associators() and Invoke(): the relative path (`__RELPATH`), or the full
  // path if that is missing. Empty for parameters.
  const std::string& path() const { return path_; }
  const Properties& properties() const { return properties_; }

  // Returns true if the property exists and is not null. The property may be unreadable.
  bool Has(absl::string_view name) const;
  // Return the property. Return INTERNAL, naming class and property, if the property does not
  // exist, is null, is unreadable or is of another type: WMI has then broken its contract.
  absl::StatusOr<std::string> GetString(absl::string_view name) const;
  absl::StatusOr<uint32_t> GetUint32(absl::string_view name) const;
  absl::StatusOr<uint64_t> GetUint64(absl::string_view name) const;
  absl::StatusOr<bool> GetBoolean(absl::string_view name) const;
  // Return `fallback` for a null, and INTERNAL for a property that does not exist, is unreadable or
  // is of another type.
  absl::StatusOr<std::string> GetStringOr(absl::string_view name, std::string fallback) const;
  absl::StatusOr<uint32_t> GetUint32Or(absl::string_view name, uint32_t fallback) const;
  // Returns the value, null or not. INTERNAL if the property does not exist or is unreadable.
  absl::StatusOr<Value> Get(absl::string_view name) const;

  friend bool operator==(const Object&, const Object&) = default;

 private:
  std::string class_name_;
  std::string path_;
  Properties properties_;
};

}  // namespace csi_proxy::cim

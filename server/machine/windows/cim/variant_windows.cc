#include "server/machine/windows/cim/variant_windows.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/machine/cim/errors.h"

namespace csi_proxy::cim {
namespace {

// Returns the VARTYPE that carries a CIM type in Automation, or VT_EMPTY for an unknown type.
VARTYPE CarrierOf(Type type) {
  switch (type) {
    case Type::kUint8:
      return VT_UI1;
    case Type::kSint8:
    case Type::kSint16:
    case Type::kChar16:
      return VT_I2;
    case Type::kUint16:
    case Type::kSint32:
    case Type::kUint32:
      return VT_I4;
    case Type::kSint64:
    case Type::kUint64:
    case Type::kString:
    case Type::kDatetime:
    case Type::kReference:
      return VT_BSTR;
    case Type::kReal32:
      return VT_R4;
    case Type::kReal64:
      return VT_R8;
    case Type::kBoolean:
      return VT_BOOL;
    case Type::kObject:
      return VT_UNKNOWN;
  }
  return VT_EMPTY;
}

int BitsOf(Type type) {
  switch (type) {
    case Type::kSint8:
    case Type::kUint8:
      return 8;
    case Type::kSint16:
    case Type::kUint16:
    case Type::kChar16:
      return 16;
    case Type::kSint32:
    case Type::kUint32:
      return 32;
    default:
      return 64;
  }
}

bool IsInteger(Type type) { return IsSigned(type) || IsUnsigned(type); }

absl::Status Unexpected(const VARIANT& variant, Type type) {
  return absl::InternalError(
      absl::StrCat("is a VARIANT of type ", V_VT(&variant), ", not ", TypeName(type)));
}

struct Number {
  bool negative = false;
  uint64_t magnitude = 0;
};

Number Signed(int64_t value) {
  return {value < 0, value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value)};
}

std::optional<Number> ParseNumber(absl::string_view text) {
  Number number;
  number.negative = absl::ConsumePrefix(&text, "-");
  const bool hexadecimal = absl::StartsWithIgnoreCase(text, "0x");
  if (!(hexadecimal ? absl::SimpleHexAtoi(text, &number.magnitude)
                    : absl::SimpleAtoi(text, &number.magnitude))) {
    return std::nullopt;
  }
  return number;
}

std::optional<Number> NumberOf(const VARIANT& variant) {
  switch (V_VT(&variant)) {
    case VT_I1:
      return Signed(V_I1(&variant));
    case VT_I2:
      return Signed(V_I2(&variant));
    case VT_I4:
    case VT_INT:
      return Signed(V_I4(&variant));
    case VT_I8:
      return Signed(V_I8(&variant));
    case VT_UI1:
      return Number{false, V_UI1(&variant)};
    case VT_UI2:
      return Number{false, V_UI2(&variant)};
    case VT_UI4:
    case VT_UINT:
      return Number{false, V_UI4(&variant)};
    case VT_UI8:
      return Number{false, V_UI8(&variant)};
    case VT_BSTR:
      return ParseNumber(Bstr::Utf8(V_BSTR(&variant)));
    default:
      return std::nullopt;
  }
}

// Returns the integer with the carrier's bits. The CIM type, not the carrier, decides the sign.
absl::StatusOr<Value> ToInteger(const VARIANT& variant, Type type) {
  const std::optional<Number> number = NumberOf(variant);
  if (!number.has_value()) return Unexpected(variant, type);
  const int bits = BitsOf(type);
  const uint64_t mask = ~uint64_t{0} >> (64 - bits);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  if (number->magnitude > (number->negative ? sign : mask)) {
    return absl::InternalError(absl::StrCat("is more than a ", TypeName(type), " holds"));
  }
  const uint64_t value = (number->negative ? 0 - number->magnitude : number->magnitude) & mask;
  if (IsUnsigned(type)) return Value::Unsigned(type, value);
  // Extends the sign to 64 bits.
  return Value::Signed(type, static_cast<int64_t>((value ^ sign) - sign));
}

absl::StatusOr<Value> ToScalar(const VARIANT& variant, Type type) {
  const VARTYPE carrier = V_VT(&variant);
  if (carrier == VT_NULL || carrier == VT_EMPTY) return Value::Null(type);
  if (carrier == VT_UNKNOWN || carrier == VT_DISPATCH) {
    if (V_UNKNOWN(&variant) == nullptr) return Value::Null(Type::kObject);
    V_UNKNOWN(&variant)->AddRef();
    const auto object =
        ComPtr<IUnknown>(V_UNKNOWN(&variant)).As<IWbemClassObject>(IID_IWbemClassObject);
    if (!object) return Unexpected(variant, type);
    ABSL_ASSIGN_OR_RETURN(Object embedded, ToObject(object.get()));
    return Value::Embedded(std::move(embedded));
  }
  if (IsInteger(type)) return ToInteger(variant, type);
  if (type == Type::kBoolean && carrier == VT_BOOL) return Value::Boolean(V_BOOL(&variant) != 0);
  if (type == Type::kReal32 || type == Type::kReal64) {
    if (carrier == VT_R4) return Value::Real(type, V_R4(&variant));
    if (carrier == VT_R8) return Value::Real(type, V_R8(&variant));
  }
  if (carrier == VT_BSTR && (IsText(type) || type == Type::kObject)) {
    return Value::Text(IsText(type) ? type : Type::kString, Bstr::Utf8(V_BSTR(&variant)));
  }
  return Unexpected(variant, type);
}

absl::StatusOr<Value> ToArray(const VARIANT& variant, Type type) {
  std::vector<Value> values;
  SAFEARRAY* const array = V_ARRAY(&variant);
  if (array == nullptr) return Value::Array(type, std::move(values));
  if (SafeArrayGetDim(array) != 1) return absl::InternalError("is an array of several dimensions");
  const VARTYPE carrier = V_VT(&variant) & VT_TYPEMASK;
  const size_t size = SafeArrayGetElemsize(array);
  VARIANT element = {};
  if (size > (carrier == VT_VARIANT ? sizeof(element) : sizeof(V_I8(&element)))) {
    return Unexpected(variant, type);
  }
  void* data = nullptr;
  const HRESULT result = SafeArrayAccessData(array, &data);
  if (FAILED(result)) return ComError(result, "SafeArrayAccessData");
  absl::Status status;
  for (ULONG i = 0; i < array->rgsabound[0].cElements && status.ok(); ++i) {
    const char* const source = static_cast<const char*>(data) + i * size;
    // A view of the element, which the array still owns.
    if (carrier == VT_VARIANT) {
      std::memcpy(&element, source, size);
    } else {
      V_VT(&element) = carrier;
      std::memcpy(&V_I8(&element), source, size);
    }
    absl::StatusOr<Value> value = ToScalar(element, type);
    status = value.status();
    if (status.ok()) values.push_back(*std::move(value));
  }
  SafeArrayUnaccessData(array);
  if (!status.ok()) return status;
  return Value::Array(type, std::move(values));
}

absl::Status Mismatch(const Value& value, Type type, bool is_array = false) {
  return HresultStatus(
      hresult::kTypeMismatch,
      absl::StrCat(TypeName(value.type()), value.is_array() ? "[]" : "", " given where ",
                   TypeName(type), is_array ? "[]" : "", " is asked for"));
}

// Returns the bits of an integer, or nullopt if `type` cannot hold the value.
std::optional<uint64_t> BitsFor(const Value& value, Type type) {
  const int bits = BitsOf(type);
  if (IsUnsigned(type)) {
    const absl::StatusOr<uint64_t> number = value.AsUint64();
    if (!number.ok() || *number > ~uint64_t{0} >> (64 - bits)) return std::nullopt;
    return *number;
  }
  const absl::StatusOr<int64_t> number = value.AsSint64();
  const int64_t most = static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
  if (!number.ok() || *number > most || *number < -most - 1) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

absl::StatusOr<Variant> FromInteger(const Value& value, Type type) {
  if (!IsInteger(value.type())) return Mismatch(value, type);
  const std::optional<uint64_t> bits = BitsFor(value, type);
  if (!bits.has_value()) {
    return HresultStatus(hresult::kTypeMismatch,
                         absl::StrCat("a number that no ", TypeName(type), " holds"));
  }
  Variant variant;
  V_VT(variant.get()) = CarrierOf(type);
  switch (CarrierOf(type)) {
    case VT_UI1:
      V_UI1(variant.get()) = static_cast<BYTE>(*bits);
      break;
    case VT_I2:
      V_I2(variant.get()) = static_cast<SHORT>(*bits);
      break;
    case VT_I4:
      V_I4(variant.get()) = static_cast<LONG>(*bits);
      break;
    default:
      // WMI accepts only decimal text for integers of 64 bits
      // (learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemclassobject-put).
      V_BSTR(variant.get()) =
          Bstr(IsSigned(type) ? absl::StrCat(static_cast<int64_t>(*bits)) : absl::StrCat(*bits))
              .Release();
  }
  return variant;
}

absl::StatusOr<Variant> FromText(const Value& value, Type type) {
  if (!IsText(value.type())) return Mismatch(value, type);
  absl::StatusOr<std::string> text = value.AsText();
  Variant variant;
  V_VT(variant.get()) = VT_BSTR;
  V_BSTR(variant.get()) = Bstr(*text).Release();
  const bool has_nul = absl::StrContains(*text, '\0');
  SecureZeroMemory(text->data(), text->size());
  if (has_nul) return absl::InvalidArgumentError("text with a NUL in it");
  return variant;
}

absl::StatusOr<Variant> FromObject(const Value& value, Type type, const Spawn& spawn) {
  const absl::StatusOr<Object> object = value.AsObject();
  if (!object.ok()) return Mismatch(value, type);
  ABSL_ASSIGN_OR_RETURN(ComPtr<IWbemClassObject> instance, spawn(object->class_name()));
  const absl::Status status =
      PutProperties(object->properties(), object->class_name(), spawn, instance.get());
  if (!status.ok()) return status;
  Variant variant;
  instance->AddRef();
  V_VT(variant.get()) = VT_UNKNOWN;
  V_UNKNOWN(variant.get()) = instance.get();
  return variant;
}

absl::StatusOr<Variant> FromScalar(const Value& value, Type type, const Spawn& spawn) {
  if (IsInteger(type)) return FromInteger(value, type);
  if (IsText(type)) return FromText(value, type);
  if (type == Type::kObject) return FromObject(value, type, spawn);
  Variant variant;
  V_VT(variant.get()) = CarrierOf(type);
  if (type == Type::kBoolean) {
    const absl::StatusOr<bool> boolean = value.AsBoolean();
    if (!boolean.ok()) return Mismatch(value, type);
    V_BOOL(variant.get()) = *boolean ? VARIANT_TRUE : VARIANT_FALSE;
    return variant;
  }
  const absl::StatusOr<double> real = value.AsReal();
  if (!real.ok()) return Mismatch(value, type);
  if (type == Type::kReal32) {
    V_R4(variant.get()) = static_cast<float>(*real);
  } else {
    V_R8(variant.get()) = *real;
  }
  return variant;
}

absl::StatusOr<Variant> FromArray(const Value& value, Type type, const Spawn& spawn) {
  const absl::StatusOr<std::vector<Value>> elements = value.AsArray();
  if (!elements.ok()) return Mismatch(value, type, true);
  const VARTYPE carrier = CarrierOf(type);
  Variant variant;
  SAFEARRAY* const array = SafeArrayCreateVector(carrier, 0, static_cast<ULONG>(elements->size()));
  if (array == nullptr) return ComError(E_OUTOFMEMORY, "SafeArrayCreateVector");
  V_VT(variant.get()) = VT_ARRAY | carrier;
  V_ARRAY(variant.get()) = array;
  for (LONG i = 0; i < static_cast<LONG>(elements->size()); ++i) {
    ABSL_ASSIGN_OR_RETURN(Variant element, FromScalar((*elements)[i], type, spawn));
    // Text and objects are passed by value, all other types by address.
    const bool is_pointer = carrier == VT_BSTR || carrier == VT_UNKNOWN;
    void* const source = is_pointer ? V_BYREF(element.get()) : &V_I8(element.get());
    const HRESULT result = SafeArrayPutElement(array, &i, source);
    if (FAILED(result)) return ComError(result, "SafeArrayPutElement");
  }
  return variant;
}

}  // namespace

absl::StatusOr<Value> ToValue(const VARIANT& variant, CIMTYPE type) {
  const Type element = static_cast<Type>(type & ~CIM_FLAG_ARRAY);
  if (CarrierOf(element) == VT_EMPTY) {
    return absl::InternalError(absl::StrCat("is of the unknown CIM type ", type));
  }
  const bool is_array = (type & CIM_FLAG_ARRAY) != 0;
  const VARTYPE carrier = V_VT(&variant);
  if (carrier == VT_NULL || carrier == VT_EMPTY) return Value::Null(element, is_array);
  if (is_array != ((carrier & VT_ARRAY) != 0)) return Unexpected(variant, element);
  return is_array ? ToArray(variant, element) : ToScalar(variant, element);
}

absl::StatusOr<Variant> ToVariant(const Value& value, CIMTYPE type, const Spawn& spawn) {
  const Type element = static_cast<Type>(type & ~CIM_FLAG_ARRAY);
  if (CarrierOf(element) == VT_EMPTY) {
    return absl::InternalError(absl::StrCat("is of the unknown CIM type ", type));
  }
  ABSL_RETURN_IF_ERROR(value.status());
  if (value.is_null()) {
    Variant null;
    V_VT(null.get()) = VT_NULL;
    return null;
  }
  const bool is_array = (type & CIM_FLAG_ARRAY) != 0;
  if (is_array != value.is_array()) return Mismatch(value, element, is_array);
  return is_array ? FromArray(value, element, spawn) : FromScalar(value, element, spawn);
}

}  // namespace csi_proxy::cim

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "integration/wine/double/wmi_object_windows.h"
#include "server/machine/cim/errors.h"

namespace csi_proxy::node_double {
namespace {

using cim::Type;
using cim::Value;
using cim::Variant;

// The VARIANT type that carries a CIM type, and the range of integers in that carrier: a uint32
// accepts every VT_I4, where negative numbers are its upper half.
struct Rule {
  Type type;
  VARTYPE carrier;
  int64_t least = 0;
  int64_t most = 0;
};

constexpr int64_t kLongMin = std::numeric_limits<int32_t>::min();
constexpr int64_t kLongMax = std::numeric_limits<int32_t>::max();
constexpr Rule kRules[] = {
    {Type::kBoolean, VT_BOOL},
    {Type::kUint8, VT_UI1, 0, 0xFF},
    {Type::kSint8, VT_I2, -0x80, 0x7F},
    {Type::kSint16, VT_I2, -0x8000, 0x7FFF},
    {Type::kChar16, VT_I2, -0x8000, 0x7FFF},
    {Type::kUint16, VT_I4, 0, 0xFFFF},
    {Type::kSint32, VT_I4, kLongMin, kLongMax},
    {Type::kUint32, VT_I4, kLongMin, kLongMax},
    {Type::kSint64, VT_BSTR},
    {Type::kUint64, VT_BSTR},
    {Type::kReal32, VT_R4},
    {Type::kReal64, VT_R8},
    {Type::kString, VT_BSTR},
    {Type::kDatetime, VT_BSTR},
    {Type::kReference, VT_BSTR},
    {Type::kObject, VT_UNKNOWN},
};

const Rule& RuleOf(Type type) {
  return *std::find_if(std::begin(kRules), std::end(kRules),
                       [&](const Rule& rule) { return rule.type == type; });
}

// Stores a value in an empty VARIANT.
absl::Status Give(Type type, const Value& value, cim::Namespace space, VARIANT* out) {
  const VARTYPE carrier = RuleOf(type).carrier;
  switch (carrier) {
    case VT_BOOL:
      V_BOOL(out) = *value.AsBoolean() ? VARIANT_TRUE : VARIANT_FALSE;
      break;
    case VT_UI1:
      V_UI1(out) = static_cast<BYTE>(*value.AsUint64());
      break;
    case VT_I2:
      V_I2(out) = static_cast<SHORT>(cim::IsSigned(type) ? *value.AsSint64() : *value.AsUint64());
      break;
    case VT_I4:
      V_I4(out) = static_cast<LONG>(cim::IsSigned(type) ? *value.AsSint64() : *value.AsUint64());
      break;
    case VT_R4:
      V_R4(out) = static_cast<float>(*value.AsReal());
      break;
    case VT_R8:
      V_R8(out) = *value.AsReal();
      break;
    case VT_BSTR:
      V_BSTR(out) = cim::Bstr(cim::IsText(type)     ? *value.AsText()
                              : cim::IsSigned(type) ? absl::StrCat(*value.AsSint64())
                                                    : absl::StrCat(*value.AsUint64()))
                        .Release();
      break;
    default: {
      absl::StatusOr<cim::ComPtr<WmiObject>> object =
          WmiObject::OfInstance(space, *value.AsObject());
      if (!object.ok()) return object.status();
      V_UNKNOWN(out) = HandOut(*object);
      break;
    }
  }
  V_VT(out) = carrier;
  return absl::OkStatus();
}

absl::Status Mismatch(absl::string_view why) {
  return cim::HresultStatus(cim::hresult::kTypeMismatch, "Put", why);
}

// Returns true if a VARIANT of type `given` is coerced into a property of `type`.
bool MayCoerce(VARTYPE given, Type type) {
  if (type == Type::kObject) return given == VT_UNKNOWN;
  // The documentation of Put() excludes this pair.
  if (given == VT_I2 && type == Type::kUint32) return false;
  constexpr VARTYPE kCoerced[] = {VT_UI1, VT_UI2, VT_UI4,  VT_I2,  VT_I4,
                                  VT_R4,  VT_R8,  VT_BOOL, VT_BSTR};
  return std::find(std::begin(kCoerced), std::end(kCoerced), given) != std::end(kCoerced);
}

absl::StatusOr<Value> TakeObject(const VARIANT& variant) {
  const cim::ComPtr<WmiObject> object = WmiObject::Known(V_UNKNOWN(&variant));
  if (!object) return Mismatch("an object that is not WMI's");
  return Value::Embedded(object->ToObject());
}

// Parses a decimal number of 64 bits.
absl::StatusOr<Value> Take64(Type type, const std::string& text) {
  int64_t number = 0;
  uint64_t magnitude = 0;
  if (type == Type::kSint64 && absl::SimpleAtoi(text, &number)) return Value::Signed(type, number);
  if (type == Type::kUint64 && absl::SimpleAtoi(text, &magnitude)) {
    return Value::Unsigned(type, magnitude);
  }
  return Mismatch("text that is not a decimal number of 64 bits");
}

// Reads a VARIANT that has the carrier type of `type`.
absl::StatusOr<Value> TakeCarried(Type type, const VARIANT& variant) {
  const Rule& rule = RuleOf(type);
  switch (rule.carrier) {
    case VT_UNKNOWN:
      return TakeObject(variant);
    case VT_BOOL:
      return Value::Boolean(V_BOOL(&variant) != VARIANT_FALSE);
    case VT_R4:
      return Value::Real(type, V_R4(&variant));
    case VT_R8:
      return Value::Real(type, V_R8(&variant));
    case VT_BSTR: {
      std::string text = cim::Bstr::Utf8(V_BSTR(&variant));
      if (cim::IsText(type)) return Value::Text(type, std::move(text));
      return Take64(type, text);
    }
    default:
      break;
  }
  const int64_t number = rule.carrier == VT_UI1  ? V_UI1(&variant)
                         : rule.carrier == VT_I2 ? V_I2(&variant)
                                                 : V_I4(&variant);
  if (number < rule.least || number > rule.most) return Mismatch("a number out of range");
  if (cim::IsSigned(type)) return Value::Signed(type, number);
  const uint64_t mask = rule.carrier == VT_I4 ? 0xFFFFFFFF : 0xFFFF;
  return Value::Unsigned(type, static_cast<uint64_t>(number) & mask);
}

absl::StatusOr<Value> TakeScalar(Type type, const VARIANT& variant) {
  const VARTYPE carrier = RuleOf(type).carrier;
  if (V_VT(&variant) == carrier) return TakeCarried(type, variant);
  const std::string given = absl::StrCat("a VARIANT of type ", V_VT(&variant));
  if (!MayCoerce(V_VT(&variant), type)) return Mismatch(given);
  // Wine's VariantChangeType wraps these numbers, where Windows' fails with DISP_E_OVERFLOW.
  if (carrier == VT_I4 && V_VT(&variant) == VT_UI4 && V_UI4(&variant) > kLongMax) {
    return Mismatch(given);
  }
  Variant coerced;
  // VariantChangeType does not change its source.
  if (FAILED(VariantChangeType(coerced.get(), const_cast<VARIANT*>(&variant), 0, carrier))) {
    return Mismatch(given);
  }
  return TakeCarried(type, *coerced);
}

absl::StatusOr<Value> TakeArray(Type type, const VARIANT& variant) {
  const VARTYPE carrier = RuleOf(type).carrier;
  SAFEARRAY* const array = V_ARRAY(&variant);
  if (array == nullptr || SafeArrayGetDim(array) != 1) {
    return Mismatch("no array of one dimension");
  }
  LONG first = 0;
  LONG last = -1;
  SafeArrayGetLBound(array, 1, &first);
  SafeArrayGetUBound(array, 1, &last);
  // An array without elements may also have the element type VARIANT.
  const bool may_be_any = last < first && V_VT(&variant) == (VT_ARRAY | VT_VARIANT);
  if (V_VT(&variant) != (VT_ARRAY | carrier) && !may_be_any) {
    return Mismatch(absl::StrCat("a VARIANT of type ", V_VT(&variant)));
  }
  std::vector<Value> elements;
  for (LONG i = first; i <= last; ++i) {
    Variant element;
    // SafeArrayGetElement copies the element; `element` owns the copy.
    if (FAILED(SafeArrayGetElement(array, &i, &V_I8(element.get())))) {
      return Mismatch("an array that cannot be read");
    }
    V_VT(element.get()) = carrier;
    absl::StatusOr<Value> value = TakeCarried(type, *element);
    if (!value.ok()) return value.status();
    elements.push_back(*std::move(value));
  }
  return Value::Array(type, std::move(elements));
}

}  // namespace

VARTYPE CarrierOf(const Member& member) {
  const VARTYPE carrier = RuleOf(member.type).carrier;
  return member.is_array ? static_cast<VARTYPE>(VT_ARRAY | carrier) : carrier;
}

CIMTYPE CimTypeOf(const Member& member) {
  return static_cast<CIMTYPE>(member.type) | (member.is_array ? CIM_FLAG_ARRAY : 0);
}

absl::StatusOr<Variant> GiveVariant(const Member& member, const Value& value,
                                    cim::Namespace space) {
  Variant variant;
  if (value.is_null()) {
    V_VT(variant.get()) = VT_NULL;
    return variant;
  }
  if (!member.is_array) {
    const absl::Status given = Give(member.type, value, space, variant.get());
    if (!given.ok()) return given;
    return variant;
  }
  const std::vector<Value> elements = *value.AsArray();
  const VARTYPE carrier = RuleOf(member.type).carrier;
  V_ARRAY(variant.get()) = SafeArrayCreateVector(carrier, 0, static_cast<ULONG>(elements.size()));
  V_VT(variant.get()) = VT_ARRAY | carrier;
  for (LONG i = 0; i < static_cast<LONG>(elements.size()); ++i) {
    Variant element;
    const absl::Status given = Give(member.type, elements[i], space, element.get());
    if (!given.ok()) return given;
    // SafeArrayPutElement takes text and objects as pointers and other types by address, and copies
    // them.
    const bool is_pointer = carrier == VT_BSTR || carrier == VT_UNKNOWN;
    SafeArrayPutElement(V_ARRAY(variant.get()), &i,
                        is_pointer ? V_BYREF(element.get()) : &V_I8(element.get()));
  }
  return variant;
}

absl::StatusOr<Value> TakeVariant(const Member& member, const VARIANT& variant) {
  if (V_VT(&variant) == VT_NULL) return Value::Null(member.type, member.is_array);
  const bool is_array = (V_VT(&variant) & VT_ARRAY) != 0;
  if (is_array != member.is_array) {
    return Mismatch(is_array ? "an array for what is none" : "no array for an array");
  }
  return is_array ? TakeArray(member.type, variant) : TakeScalar(member.type, variant);
}

}  // namespace csi_proxy::node_double

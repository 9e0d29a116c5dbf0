#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "server/machine/cim/errors.h"
#include "server/machine/windows/cim/testing/fake_wmi_windows.h"
#include "server/machine/windows/cim/variant_windows.h"

namespace csi_proxy::cim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CIMTYPE Cim(Type type, bool is_array = false) {
  return static_cast<CIMTYPE>(type) | (is_array ? CIM_FLAG_ARRAY : 0);
}

absl::StatusOr<ComPtr<IWbemClassObject>> NoSpawn(const std::string& class_name) {
  return absl::InternalError(class_name);
}

Variant Text(absl::string_view text) {
  Variant variant;
  V_VT(variant.get()) = VT_BSTR;
  V_BSTR(variant.get()) = Bstr(text).Release();
  return variant;
}

Variant I4(LONG value) {
  Variant variant;
  V_VT(variant.get()) = VT_I4;
  V_I4(variant.get()) = value;
  return variant;
}

Variant I2(SHORT value) {
  Variant variant;
  V_VT(variant.get()) = VT_I2;
  V_I2(variant.get()) = value;
  return variant;
}

// Returns the value that ToValue() reads from `variant` for a property of `type`.
Value Read(const Variant& variant, CIMTYPE type) {
  const absl::StatusOr<Value> value = ToValue(*variant, type);
  EXPECT_TRUE(value.ok()) << value.status();
  return value.value_or(Value());
}

struct Trip {
  Value value;
  VARTYPE carrier;
};

std::vector<Trip> Scalars() {
  constexpr int64_t kLeast64 = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost64 = std::numeric_limits<int64_t>::max();
  std::vector<Trip> trips = {
      {Value::Boolean(true), VT_BOOL},
      {Value::Boolean(false), VT_BOOL},
      {Value::String(""), VT_BSTR},
      {Value::String("plain"), VT_BSTR},
      {Value::String("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x92\xBE"), VT_BSTR},
      {Value::String(std::string(100'000, 'x')), VT_BSTR},
      {Value::Text(Type::kDatetime, "20120608000000.000000+000"), VT_BSTR},
      {Value::Text(Type::kReference, R"(\\.\root\cimv2:Win32_Service.Name="a\"b")"), VT_BSTR},
      {Value::Real(Type::kReal32, 1.5), VT_R4},
      {Value::Real(Type::kReal64, -1e300), VT_R8},
  };
  const auto add = [&](VARTYPE carrier, std::vector<Value> values) {
    for (Value& value : values) trips.push_back({std::move(value), carrier});
  };
  const auto add_unsigned = [&](Type type, VARTYPE carrier, uint64_t most) {
    add(carrier,
        {Value::Unsigned(type, 0), Value::Unsigned(type, 1), Value::Unsigned(type, most / 2),
         Value::Unsigned(type, most / 2 + 1), Value::Unsigned(type, most)});
  };
  const auto add_signed = [&](Type type, VARTYPE carrier, int64_t least, int64_t most) {
    add(carrier, {Value::Signed(type, 0), Value::Signed(type, -1), Value::Signed(type, least),
                  Value::Signed(type, most)});
  };
  add_unsigned(Type::kUint8, VT_UI1, 0xFF);
  add_unsigned(Type::kUint16, VT_I4, 0xFFFF);
  add_unsigned(Type::kChar16, VT_I2, 0xFFFF);
  add_unsigned(Type::kUint32, VT_I4, 0xFFFFFFFF);
  add_unsigned(Type::kUint64, VT_BSTR, ~uint64_t{0});
  add_signed(Type::kSint8, VT_I2, -128, 127);
  add_signed(Type::kSint16, VT_I2, -32768, 32767);
  add_signed(Type::kSint32, VT_I4, -2147483648, 2147483647);
  add_signed(Type::kSint64, VT_BSTR, kLeast64, kMost64);
  return trips;
}

TEST(VariantTest, EveryScalarSurvivesARoundTripInWmisVariantType) {
  for (const Trip& trip : Scalars()) {
    SCOPED_TRACE(trip.value.DebugString().substr(0, 80));
    const CIMTYPE type = Cim(trip.value.type());
    const absl::StatusOr<Variant> variant = ToVariant(trip.value, type, NoSpawn);
    ASSERT_TRUE(variant.ok()) << variant.status();
    EXPECT_EQ(V_VT(&**variant), trip.carrier);
    EXPECT_EQ(Read(*variant, type), trip.value);
  }
}

TEST(VariantTest, EveryArraySurvivesARoundTripInWmisVariantType) {
  for (const Trip& trip : Scalars()) {
    SCOPED_TRACE(trip.value.DebugString().substr(0, 80));
    const CIMTYPE type = Cim(trip.value.type(), true);
    for (const size_t count : {0, 1, 3}) {
      const Value array = Value::Array(trip.value.type(), std::vector<Value>(count, trip.value));
      const absl::StatusOr<Variant> variant = ToVariant(array, type, NoSpawn);
      ASSERT_TRUE(variant.ok()) << variant.status();
      EXPECT_EQ(V_VT(&**variant), VT_ARRAY | trip.carrier);
      EXPECT_EQ(Read(*variant, type), array);
    }
  }
}

TEST(VariantTest, ArraysKeepTheirOrder) {
  const Value array =
      Value::Array(Type::kString, {Value::String("b"), Value::String(""), Value::String("a")});
  const absl::StatusOr<Variant> variant = ToVariant(array, Cim(Type::kString, true), NoSpawn);
  ASSERT_TRUE(variant.ok());
  EXPECT_EQ(Read(*variant, Cim(Type::kString, true)), array);
}

TEST(VariantTest, NullsKeepTheirType) {
  Variant null;
  V_VT(null.get()) = VT_NULL;
  const Variant empty;
  for (const Trip& trip : Scalars()) {
    for (const bool is_array : {false, true}) {
      const CIMTYPE type = Cim(trip.value.type(), is_array);
      for (const Variant* variant : {&std::as_const(null), &empty}) {
        const Value value = Read(*variant, type);
        EXPECT_TRUE(value.is_null());
        EXPECT_EQ(value.type(), trip.value.type());
        EXPECT_EQ(value.is_array(), is_array);
      }
      const absl::StatusOr<Variant> variant = ToVariant(Value(), type, NoSpawn);
      ASSERT_TRUE(variant.ok());
      EXPECT_EQ(V_VT(&**variant), VT_NULL);
    }
  }
}

// Automation carries unsigned integers in signed types, where large values are negative.
TEST(VariantTest, IntegersAreReadByTheirCimTypeAndNotByTheVariantsSign) {
  EXPECT_EQ(Read(I4(-1), CIM_UINT32), Value::Uint32(0xFFFFFFFF));
  EXPECT_EQ(Read(I4(std::numeric_limits<LONG>::min()), CIM_UINT32), Value::Uint32(0x80000000));
  EXPECT_EQ(Read(I4(-1), CIM_SINT32), Value::Signed(Type::kSint32, -1));
  EXPECT_EQ(Read(I4(0xFFFF), CIM_UINT16), Value::Uint16(0xFFFF));
  EXPECT_EQ(Read(I2(-1), CIM_UINT16), Value::Uint16(0xFFFF));
  EXPECT_EQ(Read(I2(-128), CIM_SINT8), Value::Signed(Type::kSint8, -128));
  EXPECT_EQ(Read(I2('D'), CIM_CHAR16), Value::Char16(u'D'));
  EXPECT_EQ(Read(I2(-1), CIM_CHAR16), Value::Char16(0xFFFF));
}

TEST(VariantTest, IntegersAreReadFromEveryIntegerVariant) {
  const auto read = [](VARTYPE carrier, auto set) {
    Variant variant;
    V_VT(variant.get()) = carrier;
    set(variant.get());
    return Read(variant, CIM_UINT32);
  };
  EXPECT_EQ(read(VT_I1, [](VARIANT* v) { V_I1(v) = 7; }), Value::Uint32(7));
  EXPECT_EQ(read(VT_UI1, [](VARIANT* v) { V_UI1(v) = 200; }), Value::Uint32(200));
  EXPECT_EQ(read(VT_UI2, [](VARIANT* v) { V_UI2(v) = 65535; }), Value::Uint32(65535));
  EXPECT_EQ(read(VT_UI4, [](VARIANT* v) { V_UI4(v) = ~0u; }), Value::Uint32(~0u));
  EXPECT_EQ(read(VT_INT, [](VARIANT* v) { V_INT(v) = 7; }), Value::Uint32(7));
  EXPECT_EQ(read(VT_UINT, [](VARIANT* v) { V_UINT(v) = ~0u; }), Value::Uint32(~0u));
  EXPECT_EQ(read(VT_I8, [](VARIANT* v) { V_I8(v) = 7; }), Value::Uint32(7));
  EXPECT_EQ(read(VT_UI8, [](VARIANT* v) { V_UI8(v) = 7; }), Value::Uint32(7));
}

TEST(VariantTest, IntegersOf64BitsAreReadFromDecimalOrHexadecimalText) {
  EXPECT_EQ(Read(Text("0"), CIM_UINT64), Value::Uint64(0));
  EXPECT_EQ(Read(Text("18446744073709551615"), CIM_UINT64), Value::Uint64(~uint64_t{0}));
  EXPECT_EQ(Read(Text("0x1F"), CIM_UINT64), Value::Uint64(31));
  EXPECT_EQ(Read(Text("0XffffFFFFffffFFFF"), CIM_UINT64), Value::Uint64(~uint64_t{0}));
  EXPECT_EQ(Read(Text("010"), CIM_UINT64), Value::Uint64(10));
  EXPECT_EQ(Read(Text("-9223372036854775808"), CIM_SINT64),
            Value::Signed(Type::kSint64, std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(Read(Text("0xFFFFFFFFFFFFFFFF"), CIM_SINT64), Value::Signed(Type::kSint64, -1));
}

TEST(VariantTest, AValueThatDoesNotFitItsTypeIsAnError) {
  for (const char* const text : {"", " ", "0x", "-", "--1", "1x", "18446744073709551616", "1.5"}) {
    EXPECT_FALSE(ToValue(*Text(text), CIM_UINT64).ok()) << text;
  }
  EXPECT_FALSE(ToValue(*Text("9223372036854775808x"), CIM_SINT64).ok());
  EXPECT_FALSE(ToValue(*Text("-9223372036854775809"), CIM_SINT64).ok());
  EXPECT_FALSE(ToValue(*I4(0x10000), CIM_UINT16).ok());
  EXPECT_FALSE(ToValue(*I4(-0x8001), CIM_UINT16).ok());
  EXPECT_FALSE(ToValue(*I4(256), CIM_UINT8).ok());
  EXPECT_FALSE(ToValue(*I4(1), CIM_STRING).ok());
  EXPECT_FALSE(ToValue(*I4(1), CIM_BOOLEAN).ok());
  EXPECT_FALSE(ToValue(*I4(1), CIM_REAL64).ok());
  EXPECT_FALSE(ToValue(*I4(1), CIM_UINT32 | CIM_FLAG_ARRAY).ok());
  EXPECT_FALSE(ToValue(*I4(1), CIM_ILLEGAL).ok());
  const absl::StatusOr<Variant> array =
      ToVariant(Value::Array(Type::kUint32, {Value::Uint32(1)}), Cim(Type::kUint32, true), NoSpawn);
  ASSERT_TRUE(array.ok());
  EXPECT_FALSE(ToValue(**array, CIM_UINT32).ok());
}

// WMI may return empty arrays of VARIANT.
TEST(VariantTest, ArraysOfVariantsAreRead) {
  Variant array;
  V_VT(array.get()) = VT_ARRAY | VT_VARIANT;
  V_ARRAY(array.get()) = SafeArrayCreateVector(VT_VARIANT, 0, 2);
  for (LONG i = 0; i < 2; ++i) {
    Variant element = I4(-1 - i);
    ASSERT_EQ(SafeArrayPutElement(V_ARRAY(array.get()), &i, element.get()), S_OK);
  }
  EXPECT_EQ(Read(array, CIM_UINT32 | CIM_FLAG_ARRAY),
            Value::Array(Type::kUint32, {Value::Uint32(0xFFFFFFFF), Value::Uint32(0xFFFFFFFE)}));
  Variant none;
  V_VT(none.get()) = VT_ARRAY | VT_VARIANT;
  V_ARRAY(none.get()) = nullptr;
  EXPECT_EQ(Read(none, CIM_STRING | CIM_FLAG_ARRAY), Value::Array(Type::kString, {}));
}

TEST(VariantTest, TextEndsAtItsFirstNul) {
  EXPECT_EQ(Read(Text(absl::string_view("ab\0c", 4)), CIM_STRING), Value::String("ab"));
  Variant null;
  V_VT(null.get()) = VT_BSTR;
  V_BSTR(null.get()) = nullptr;
  EXPECT_EQ(Read(null, CIM_STRING), Value::String(""));
}

struct Refusal {
  Value value;
  CIMTYPE type;
};

TEST(VariantTest, ErrorsHideTheValueOfAParameterThatDoesNotFit) {
  const Refusal refusals[] = {
      {Value::String("hunter2"), CIM_UINT32},
      {Value::String("hunter2"), CIM_BOOLEAN},
      {Value::String("hunter2"), CIM_REAL64},
      {Value::String("hunter2"), CIM_OBJECT},
      {Value::String("hunter2"), CIM_STRING | CIM_FLAG_ARRAY},
      {Value::Uint32(70007), CIM_UINT16},
      {Value::Uint32(70007), CIM_SINT16},
      {Value::Uint32(70007), CIM_STRING},
      {Value::Uint32(70007), CIM_BOOLEAN},
      {Value::Uint64(70007), CIM_UINT8},
      {Value::Uint64(~uint64_t{0}), CIM_SINT64},
      {Value::Signed(Type::kSint32, -70007), CIM_UINT32},
      {Value::Signed(Type::kSint32, -129), CIM_SINT8},
      {Value::Boolean(true), CIM_UINT32},
      {Value::Array(Type::kString, {Value::String("hunter2")}), CIM_STRING},
      {Value::Array(Type::kString, {Value::String("hunter2")}), CIM_UINT32 | CIM_FLAG_ARRAY},
      {Value::Embedded(Object("X", "", {})), CIM_STRING},
  };
  for (const Refusal& refusal : refusals) {
    const absl::StatusOr<Variant> variant = ToVariant(refusal.value, refusal.type, NoSpawn);
    EXPECT_EQ(HresultOf(variant.status()), hresult::kTypeMismatch)
        << refusal.value.DebugString() << " " << refusal.type << " " << variant.status();
    EXPECT_THAT(std::string(variant.status().message()), Not(HasSubstr("hunter2")));
    EXPECT_THAT(std::string(variant.status().message()), Not(HasSubstr("70007")));
  }
}

TEST(VariantTest, NumbersInTheRangeOfTheParametersTypeAreAccepted) {
  const absl::StatusOr<Variant> variant = ToVariant(Value::Uint32(3260), CIM_UINT16, NoSpawn);
  ASSERT_TRUE(variant.ok());
  EXPECT_EQ(V_VT(&**variant), VT_I4);
  EXPECT_EQ(V_I4(&**variant), 3260);
}

TEST(VariantTest, ErrorsForTextWithANulHideTheText) {
  for (const CIMTYPE type : {CIM_STRING, CIM_DATETIME, CIM_REFERENCE}) {
    const absl::StatusOr<Variant> variant =
        ToVariant(Value::String(std::string("hunter2\0x", 9)), type, NoSpawn);
    EXPECT_EQ(variant.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(variant.status().message()), Not(HasSubstr("hunter2")));
  }
}

TEST(VariantTest, WipeOverwritesText) {
  const auto all_zero = [](BSTR text) {
    return std::wstring(text, SysStringLen(text)) == std::wstring(SysStringLen(text), L'\0');
  };
  Variant secret = Text("hunter2");
  ASSERT_FALSE(all_zero(V_BSTR(secret.get())));
  secret.Wipe();
  EXPECT_EQ(SysStringLen(V_BSTR(secret.get())), 7u);
  EXPECT_TRUE(all_zero(V_BSTR(secret.get())));

  absl::StatusOr<Variant> secrets =
      ToVariant(Value::Array(Type::kString, {Value::String("hunter2"), Value::String("hunter3")}),
                CIM_STRING | CIM_FLAG_ARRAY, NoSpawn);
  ASSERT_TRUE(secrets.ok());
  secrets->Wipe();
  const BSTR* const texts = static_cast<BSTR*>(V_ARRAY(secrets->get())->pvData);
  EXPECT_TRUE(all_zero(texts[0]));
  EXPECT_TRUE(all_zero(texts[1]));
}

class EmbeddedTest : public ::testing::Test {
 protected:
  ~EmbeddedTest() override {
    definition_ = {};
    EXPECT_EQ(FakesAlive(), 0);
  }

  // A class with a number, a text, an instance of itself, and an array of instances.
  ComPtr<FakeObject> definition_ = [] {
    ComPtr<FakeObject> definition = FakeObject::New(L"Node");
    definition->Declare(L"Number", CIM_UINT32);
    definition->Declare(L"Text", CIM_STRING);
    definition->Declare(L"Child", CIM_OBJECT);
    definition->Declare(L"Children", CIM_OBJECT | CIM_FLAG_ARRAY);
    return definition;
  }();
  const Spawn spawn_ =
      [this](const std::string& class_name) -> absl::StatusOr<ComPtr<IWbemClassObject>> {
    if (class_name != "Node") return HresultStatus(hresult::kInvalidClass, class_name);
    ComPtr<IWbemClassObject> instance;
    definition_->SpawnInstance(0, instance.Receive());
    return instance;
  };
};

Object Node(uint32_t number, Value child, Value children) {
  return Object("Node", "",
                {{"Number", Value::Uint32(number)},
                 {"Text", Value::String("t")},
                 {"Child", std::move(child)},
                 {"Children", std::move(children)}});
}

TEST_F(EmbeddedTest, NestedObjectsSurviveARoundTrip) {
  const Value null = Value::Null(Type::kObject);
  const Value leaf = Value::Embedded(Node(3, null, null));
  const Value tree = Value::Embedded(
      Node(1, Value::Embedded(Node(2, leaf, null)), Value::Array(Type::kObject, {leaf, leaf})));
  absl::StatusOr<Variant> variant = ToVariant(tree, CIM_OBJECT, spawn_);
  ASSERT_TRUE(variant.ok()) << variant.status();
  EXPECT_EQ(V_VT(variant->get()), VT_UNKNOWN);
  EXPECT_EQ(Read(*variant, CIM_OBJECT), tree);
  // WMI declares some objects in out parameters as strings.
  EXPECT_EQ(Read(*variant, CIM_STRING), tree);
}

TEST_F(EmbeddedTest, ErrorsNameTheClassAndTheProperty) {
  const auto status_of = [&](const Value& value) {
    return ToVariant(value, CIM_OBJECT, spawn_).status();
  };
  EXPECT_EQ(HresultOf(status_of(Value::Embedded(Object("Other", "", {})))), hresult::kInvalidClass);
  const absl::Status unknown =
      status_of(Value::Embedded(Object("Node", "", {{"Nope", Value::Uint32(70007)}})));
  EXPECT_EQ(HresultOf(unknown), hresult::kInvalidMethodParameters);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("Node(Nope)"));
  const absl::Status mismatch =
      status_of(Value::Embedded(Object("Node", "", {{"Text", Value::Uint32(70007)}})));
  EXPECT_EQ(HresultOf(mismatch), hresult::kTypeMismatch);
  EXPECT_THAT(std::string(mismatch.message()), HasSubstr("Node(Text)"));
  EXPECT_THAT(std::string(mismatch.message()), Not(HasSubstr("70007")));
}

TEST_F(EmbeddedTest, TextInPlaceOfAnObjectIsReadAsText) {
  EXPECT_EQ(Read(Text("instance of X {}"), CIM_OBJECT), Value::String("instance of X {}"));
}

TEST_F(EmbeddedTest, AnObjectOfAnotherKindIsAnError) {
  Variant variant;
  V_VT(variant.get()) = VT_UNKNOWN;
  IErrorInfo* info = nullptr;
  ICreateErrorInfo* create = nullptr;
  ASSERT_EQ(CreateErrorInfo(&create), S_OK);
  ASSERT_EQ(create->QueryInterface(IID_IErrorInfo, reinterpret_cast<void**>(&info)), S_OK);
  create->Release();
  V_UNKNOWN(variant.get()) = info;
  EXPECT_FALSE(ToValue(*variant, CIM_OBJECT).ok());
}

}  // namespace
}  // namespace csi_proxy::cim

#include "server/machine/cim/value.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"

namespace csi_proxy::cim {
namespace {

constexpr Type kTypes[] = {Type::kSint16, Type::kSint32,   Type::kReal32,    Type::kReal64,
                           Type::kString, Type::kBoolean,  Type::kObject,    Type::kSint8,
                           Type::kUint8,  Type::kUint16,   Type::kUint32,    Type::kSint64,
                           Type::kUint64, Type::kDatetime, Type::kReference, Type::kChar16};

TEST(TypeTest, TypeNamesAreDistinctAndKindsDoNotOverlap) {
  std::set<std::string> names;
  int integers = 0;
  for (const Type type : kTypes) {
    EXPECT_NE(TypeName(type), "unknown type");
    names.insert(std::string(TypeName(type)));
    EXPECT_LE(IsSigned(type) + IsUnsigned(type) + IsText(type), 1);
    integers += IsSigned(type) + IsUnsigned(type);
  }
  EXPECT_EQ(names.size(), std::size(kTypes));
  EXPECT_EQ(integers, 9);
  EXPECT_EQ(TypeName(static_cast<Type>(99)), "unknown type");
}

TEST(ValueTest, IntegersInRangeAreReadAsSignedOrUnsigned) {
  EXPECT_EQ(Value::Uint32(7).AsUint64().value(), 7u);
  EXPECT_EQ(Value::Uint32(7).AsSint64().value(), 7);
  EXPECT_EQ(Value::Signed(Type::kSint32, 7).AsUint32().value(), 7u);
  EXPECT_EQ(Value::Char16(u'D').AsUint32().value(), uint32_t{'D'});
  EXPECT_EQ(Value::Uint64(~uint64_t{0}).AsUint64().value(), ~uint64_t{0});
  EXPECT_EQ(Value::Signed(Type::kSint64, std::numeric_limits<int64_t>::min()).AsSint64().value(),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Value::Uint32(~0u).AsUint32().value(), ~0u);
}

TEST(ValueTest, IntegersOutOfRangeAreErrors) {
  EXPECT_EQ(Value::Uint64(uint64_t{1} << 32).AsUint32().status().code(),
            absl::StatusCode::kInternal);
  EXPECT_FALSE(Value::Signed(Type::kSint32, -1).AsUint64().ok());
  EXPECT_FALSE(Value::Signed(Type::kSint32, -1).AsUint32().ok());
  EXPECT_FALSE(Value::Uint64(uint64_t{1} << 63).AsSint64().ok());
}

std::vector<Value> OneOfEachKind() {
  return {Value::Boolean(true),
          Value::Uint32(1),
          Value::Real(Type::kReal64, 1),
          Value::String("1"),
          Value::Array(Type::kUint32, {Value::Uint32(1)}),
          Value::Embedded(Object("X", "", {})),
          Value::Null(Type::kUint32)};
}

TEST(ValueTest, AValueIsReadOnlyAsItsOwnKind) {
  for (const Value& value : OneOfEachKind()) {
    const int readable = value.AsBoolean().ok() + value.AsUint64().ok() + value.AsReal().ok() +
                         value.AsText().ok() + value.AsArray().ok() + value.AsObject().ok();
    EXPECT_EQ(readable, value.is_null() ? 0 : 1) << value.DebugString();
    EXPECT_EQ(value.AsUint64().ok(), value.AsSint64().ok());
  }
}

TEST(ValueTest, ErrorsNameTheActualAndTheWantedKind) {
  EXPECT_EQ(Value::String("secret").AsBoolean().status().message(), "is string, not boolean");
  EXPECT_EQ(Value::Null(Type::kUint32).AsUint64().status().message(),
            "is null, not an unsigned number");
  EXPECT_EQ(Value::Array(Type::kUint32, {}).AsText().status().message(), "is uint32[], not text");
}

TEST(ValueTest, ValuesWithTheSameTypeAndContentAreEqual) {
  const std::vector<Value> kinds = OneOfEachKind();
  for (size_t i = 0; i < kinds.size(); ++i) {
    for (size_t j = 0; j < kinds.size(); ++j) EXPECT_EQ(kinds[i] == kinds[j], i == j);
  }
  EXPECT_EQ(Value::Null(Type::kUint32), Value::Null(Type::kString, true));
  EXPECT_FALSE(Value::Uint32(1) == Value::Uint64(1));
  EXPECT_FALSE(Value::Array(Type::kUint32, {Value::Uint32(1)}) ==
               Value::Array(Type::kUint32, {Value::Uint32(2)}));
  EXPECT_EQ(Value::Embedded(Object("X", "p", {{"A", Value::Uint32(1)}})),
            Value::Embedded(Object("X", "p", {{"A", Value::Uint32(1)}})));
  EXPECT_FALSE(Value::Embedded(Object("X", "p", {{"A", Value::Uint32(1)}})) ==
               Value::Embedded(Object("X", "p", {{"A", Value::Uint32(2)}})));
}

// A Value wipes its text, which may be a password. Reads the memory of a text that is short enough
// to lie within the Value.
TEST(ValueTest, AValueWipesItsText) {
  alignas(Value) char memory[sizeof(Value)];
  const std::function<void(Value*)> ends[] = {
      [](Value* value) { value->~Value(); }, [](Value* value) { *value = Value(); },
      [](Value* value) { *value = Value::String("x"); },
      [](Value* value) { const Value moved = std::move(*value); }};
  for (const auto& end : ends) {
    const absl::string_view bytes(memory, sizeof(memory));
    auto* const value = new (memory) Value(Value::String("hunter2"));
    ASSERT_TRUE(absl::StrContains(bytes, "hunter2"));
    end(value);
    EXPECT_FALSE(absl::StrContains(bytes, "nter2"));
  }
}

TEST(ValueTest, DebugStringShowsTypeAndContent) {
  EXPECT_EQ(Value().DebugString(), "string null");
  EXPECT_EQ(Value::Uint32(7).DebugString(), "uint32 7");
  EXPECT_EQ(Value::Signed(Type::kSint8, -7).DebugString(), "sint8 -7");
  EXPECT_EQ(Value::Boolean(true).DebugString(), "boolean true");
  EXPECT_EQ(Value::Real(Type::kReal32, 0.5).DebugString(), "real32 0.5");
  EXPECT_EQ(Value::String("a").DebugString(), "string \"a\"");
  EXPECT_EQ(Value::Array(Type::kString, {Value::String("a"), Value::String("b")}).DebugString(),
            "string[] {string \"a\", string \"b\"}");
  EXPECT_EQ(Value::Embedded(Object("X", "", {})).DebugString(), "object instance of X");
}

TEST(NameLessTest, NamesAreComparedIgnoringCase) {
  const NameLess less;
  EXPECT_FALSE(less("ObjectId", "OBJECTID"));
  EXPECT_FALSE(less("OBJECTID", "ObjectId"));
  EXPECT_TRUE(less("a", "B"));
  EXPECT_TRUE(less("A", "b"));
  EXPECT_TRUE(less("Size", "SizeMax"));
  EXPECT_FALSE(less("x\xFF", "x\xFF"));
}

class ObjectTest : public ::testing::Test {
 protected:
  const Object object_{"MSFT_Disk",
                       "MSFT_Disk.ObjectId=\"1\"",
                       {{"Number", Value::Uint32(7)},
                        {"Size", Value::Uint64(uint64_t{1} << 40)},
                        {"Path", Value::String("p")},
                        {"IsOffline", Value::Boolean(false)},
                        {"Odd", Value::Unreadable(absl::InternalError("is a VARIANT of type 7"))},
                        {"Location", Value::Null(Type::kString)}}};
};

TEST_F(ObjectTest, PropertiesAreFoundInAnyCaseOfTheName) {
  EXPECT_EQ(object_.GetUint32("number").value(), 7u);
  EXPECT_EQ(object_.GetUint64("SIZE").value(), uint64_t{1} << 40);
  EXPECT_EQ(object_.GetString("Path").value(), "p");
  EXPECT_EQ(object_.GetBoolean("IsOffline").value(), false);
  EXPECT_TRUE(object_.Has("path"));
  EXPECT_FALSE(object_.Has("Location"));
  EXPECT_FALSE(object_.Has("Nope"));
}

TEST_F(ObjectTest, ErrorsNameTheClassAndTheProperty) {
  EXPECT_EQ(object_.GetString("Nope").status(),
            absl::InternalError("MSFT_Disk has no property Nope"));
  EXPECT_EQ(object_.GetString("Location").status(),
            absl::InternalError("MSFT_Disk.Location is null, not text"));
  EXPECT_EQ(object_.GetString("Number").status(),
            absl::InternalError("MSFT_Disk.Number is uint32, not text"));
  EXPECT_EQ(object_.GetUint32("Size").status(),
            absl::InternalError("MSFT_Disk.Size is 1099511627776, more than a uint32 holds"));
  const absl::Status odd = absl::InternalError("MSFT_Disk.Odd is a VARIANT of type 7");
  for (const absl::Status& status :
       {object_.Get("Odd").status(), object_.GetString("Odd").status(),
        object_.GetUint64("Odd").status(), object_.GetStringOr("Odd", "").status(),
        object_.GetUint32Or("Odd", 0).status()}) {
    EXPECT_EQ(status, odd);
  }
}

TEST_F(ObjectTest, TheDefaultReplacesOnlyNull) {
  EXPECT_EQ(object_.GetStringOr("Location", "none").value(), "none");
  EXPECT_EQ(object_.GetStringOr("Path", "none").value(), "p");
  EXPECT_EQ(object_.GetUint32Or("Number", 9).value(), 7u);
  EXPECT_EQ(object_.GetUint32Or("Location", 9).value(), 9u);
  EXPECT_FALSE(object_.GetStringOr("Nope", "none").ok());
  EXPECT_FALSE(object_.GetStringOr("Number", "none").ok());
}

}  // namespace
}  // namespace csi_proxy::cim

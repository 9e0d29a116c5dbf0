#include "server/calls/request_fields.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace csi_proxy::rpc {
namespace {

bool IsZero(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c == '\0'; });
}

TEST(WipeTextsTest, WipeTextsOverwritesEveryStringInPlace) {
  google::protobuf::FileDescriptorProto message;
  message.set_name("correct horse battery staple, which is not short");
  message.set_package("short");
  message.add_dependency("one");
  message.add_dependency("another");
  message.add_message_type()->set_name("within a repeated message");
  message.mutable_options()->set_java_package("within a message");
  const char* const where = message.name().data();
  WipeTexts(&message);
  EXPECT_EQ(message.name().data(), where);
  EXPECT_EQ(message.name().size(), 48u);
  for (const std::string* text :
       {&message.name(), &message.package(), &message.dependency(0), &message.dependency(1),
        &message.message_type(0).name(), &message.options().java_package()}) {
    EXPECT_FALSE(text->empty());
    EXPECT_TRUE(IsZero(*text)) << *text;
  }
}

// A client of a newer version may send its password in a field that this version lacks.
TEST(WipeTextsTest, WipeTextsOverwritesUnknownFields) {
  google::protobuf::FileDescriptorProto message;
  google::protobuf::UnknownFieldSet& unknown = *message.mutable_unknown_fields();
  unknown.AddVarint(1000, 7);
  std::string* const texts[] = {
      unknown.AddLengthDelimited(1001), unknown.AddGroup(1002)->AddLengthDelimited(1),
      message.add_message_type()->mutable_unknown_fields()->AddLengthDelimited(1001)};
  for (std::string* text : texts) *text = "password";
  WipeTexts(&message);
  for (const std::string* text : texts) {
    EXPECT_EQ(text->size(), 8u);
    EXPECT_TRUE(IsZero(*text)) << *text;
  }
}

TEST(WipeTextsTest, WipeTextsDoesNotChangeDefaultValues) {
  google::protobuf::FieldOptions empty;
  WipeTexts(&empty);
  google::protobuf::FileDescriptorProto message;
  WipeTexts(&message);
  EXPECT_EQ(message.ByteSizeLong(), 0u);
}

TEST(WipeTextsTest, WipeTextsOverwritesValuesInMaps) {
  google::protobuf::Struct message;
  (*message.mutable_fields())["key"].set_string_value("password");
  WipeTexts(&message);
  for (const auto& [key, value] : message.fields()) EXPECT_TRUE(IsZero(value.string_value()));
}

TEST(DiscardUnknownFieldsTest, UnknownFieldsOfNestedMessagesAreDiscarded) {
  google::protobuf::FileDescriptorProto message;
  ASSERT_TRUE(message.ParseFromString("\x0a\x01n\x22\x05\xa2\x06\x02hi\xfb\x01\xfc\x01"));
  ASSERT_EQ(message.message_type(0).unknown_fields().field_count(), 1);
  ASSERT_EQ(message.unknown_fields().field_count(), 1);
  DiscardUnknownFields(&message);
  EXPECT_EQ(message.message_type(0).unknown_fields().field_count(), 0);
  EXPECT_EQ(message.unknown_fields().field_count(), 0);
  EXPECT_EQ(message.name(), "n");
}

TEST(CheckKnownFieldsTest, TheErrorNamesAnUnknownFieldAtAnyDepth) {
  google::protobuf::FileDescriptorProto message;
  ASSERT_TRUE(message.ParseFromString("\x0a\x01n"));
  EXPECT_TRUE(CheckKnownFields(message).ok());
  ASSERT_TRUE(message.ParseFromString("\x0a\x01n\xfb\x01\xfc\x01"));
  const absl::Status refused = CheckKnownFields(message);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_EQ(refused.message(),
            "field 31: google.protobuf.FileDescriptorProto has no such field: update csi-proxy, or "
            "leave the field out");
  EXPECT_EQ(UnknownFieldOf(refused), "google.protobuf.FileDescriptorProto.31");
  EXPECT_EQ(UnknownFieldOf(absl::InvalidArgumentError("field 31")), std::nullopt);
  EXPECT_EQ(UnknownFieldOf(absl::OkStatus()), std::nullopt);
  // The unknown field is in a message of a repeated field.
  ASSERT_TRUE(message.ParseFromString("\x0a\x01n\x22\x05\xa2\x06\x02hi"));
  EXPECT_TRUE(absl::StrContains(CheckKnownFields(message).message(),
                                "field 100: google.protobuf.DescriptorProto has no such field"))
      << CheckKnownFields(message);
  // The unknown field is in the single message `options`.
  ASSERT_TRUE(message.ParseFromString("\x42\x04\xa2\x06\x01h"));
  EXPECT_TRUE(absl::StrContains(CheckKnownFields(message).message(), "FileOptions"))
      << CheckKnownFields(message);
}

}  // namespace
}  // namespace csi_proxy::rpc

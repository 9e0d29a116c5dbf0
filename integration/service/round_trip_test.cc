// Converting version -> hub -> version must keep every mapped field, for random messages of every
// type and version. Fields that the tables drop are cleared first; decimal texts are made
// canonical.
#include <google/protobuf/util/message_differencer.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "integration/support/bindings.h"
#include "integration/support/random_messages.h"

namespace csi_proxy::integration {
namespace {

using Field = pb::FieldDescriptor;

constexpr int kCasesPerMessage = 10'000;

// Adds what the conversion always adds: the identifiers of disk v1beta1 and v1beta2 have both keys.
void FixIdentifiers(pb::Message* message) {
  const pb::Descriptor& type = *message->GetDescriptor();
  const pb::Reflection& r = *message->GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const Field* const field = type.field(i);
    if (field->cpp_type() != Field::CPPTYPE_MESSAGE) continue;
    if (field->name() == "identifiers") {
      r.ClearField(message, field);
      for (const char* key : {"page83", "serialNumber"}) {
        pb::Message* const entry = r.AddMessage(message, field);
        entry->GetReflection()->SetString(entry, entry->GetDescriptor()->map_key(), key);
        entry->GetReflection()->SetString(entry, entry->GetDescriptor()->map_value(),
                                          absl::StrCat("id of ", key));
      }
    } else if (field->is_repeated()) {
      for (int j = 0; j < r.FieldSize(*message, field); ++j) {
        FixIdentifiers(r.MutableRepeatedMessage(message, field, j));
      }
    } else {
      // Absent messages come back as default messages.
      FixIdentifiers(r.MutableMessage(message, field));
    }
  }
}

class RoundTripTest : public testing::TestWithParam<const Binding*> {};

TEST_P(RoundTripTest, ARoundTripThroughTheHubKeepsEveryMappedField) {
  const Binding& binding = *GetParam();
  RandomMessages generator(7);
  for (int m = 0; m < binding.file()->message_type_count(); ++m) {
    const pb::Descriptor* const type = binding.file()->message_type(m);
    SCOPED_TRACE(type->full_name());
    const int cases = type->field_count() == 0 ? 1 : kCasesPerMessage;
    const auto message = NewMessage(type);
    const auto back = NewMessage(type);
    for (int i = 0; i < cases; ++i) {
      message->Clear();
      back->Clear();
      generator.Fill(message.get());
      FixIdentifiers(message.get());
      const absl::Status status = binding.round_trip(*message, back.get());
      ASSERT_TRUE(status.ok()) << status << "\n" << message->DebugString();
      ASSERT_TRUE(pb::util::MessageDifferencer::Equals(*message, *back))
          << message->DebugString() << "came back as\n"
          << back->DebugString();
    }
  }
}

// Every decimal field of the version must refuse text that is not a number in its range.
TEST_P(RoundTripTest, DecimalFieldsRefuseTextThatIsNotANumber) {
  const Binding& binding = *GetParam();
  for (int m = 0; m < binding.file()->message_type_count(); ++m) {
    const pb::Descriptor* const type = binding.file()->message_type(m);
    for (int f = 0; f < type->field_count(); ++f) {
      const Field* const field = type->field(f);
      const Field* const text = field->is_map() ? field->message_type()->map_key() : field;
      if (text->type() != Field::TYPE_STRING || !IsDecimal(*text)) continue;
      for (const char* bad : {"", " ", "-1", "+1", "1 ", " 1", "1.0", "0x1", "4294967296",
                              "18446744073709551616", "99999999999999999999999", "one", "１"}) {
        SCOPED_TRACE(absl::StrCat(field->full_name(), " = \"", bad, "\""));
        const auto message = NewMessage(type);
        const pb::Reflection& r = *message->GetReflection();
        if (field->is_map()) {
          pb::Message* const entry = r.AddMessage(message.get(), field);
          entry->GetReflection()->SetString(entry, text, bad);
        } else if (field->is_repeated()) {
          r.AddString(message.get(), field, bad);
        } else {
          r.SetString(message.get(), field, bad);
        }
        const absl::Status status = binding.round_trip(*message, NewMessage(type).get());
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
        EXPECT_TRUE(absl::StrContains(status.message(), field->name())) << status;
      }
    }
  }
}

std::vector<const Binding*> Pointers() {
  std::vector<const Binding*> all;
  for (const Binding& binding : AllVersions()) all.push_back(&binding);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Versions, RoundTripTest, testing::ValuesIn(Pointers()),
                         [](const auto& info) {
                           return absl::StrCat(info.param->group, "_", info.param->version);
                         });

}  // namespace
}  // namespace csi_proxy::integration

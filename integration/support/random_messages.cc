#include "integration/support/random_messages.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy::integration {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;

bool IsDropped(const Field& field) { return field.name() == "error" || field.name() == "context"; }

}  // namespace

bool IsDecimal(const Field& field) {
  static constexpr absl::string_view kDecimals[] = {
      "PartitionDiskRequest.diskID",
      "DiskStatsRequest.diskID",
      "SetAttachStateRequest.diskID",
      "GetAttachStateRequest.diskID",
      "GetDiskNumberByNameResponse.disk_number",
      "ListVolumesOnDiskRequest.disk_id",
      "GetTargetDisksResponse.diskIDs",
      "ListDiskLocationsResponse.DiskLocationsEntry.key",
      "ListDiskIDsResponse.DiskIDsEntry.key",
  };
  for (absl::string_view name : kDecimals) {
    if (absl::EndsWith(field.full_name(), absl::StrCat(".", name))) return true;
  }
  return false;
}

void RandomMessages::Fill(pb::Message* message) {
  const pb::Descriptor& type = *message->GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const Field* const field = type.field(i);
    if (IsDropped(*field)) continue;
    const int count = field->is_repeated() ? static_cast<int>(random_() % 4) : 1;
    for (int j = 0; j < count; ++j) Set(message, field);
  }
}

void RandomMessages::Set(pb::Message* message, const Field* field) {
  const pb::Reflection& r = *message->GetReflection();
  const bool add = field->is_repeated();
  switch (field->cpp_type()) {
    case Field::CPPTYPE_BOOL:
      r.SetBool(message, field, random_() % 2 == 0);
      break;
    case Field::CPPTYPE_UINT32:
      if (add) {
        r.AddUInt32(message, field, Number32());
      } else {
        r.SetUInt32(message, field, Number32());
      }
      break;
    case Field::CPPTYPE_INT64: {
      // diskNumber is wider than the hub's field, so it gets a value in the hub's range.
      const bool widened = field->name() == "diskNumber";
      r.SetInt64(message, field,
                 widened ? Number32() : static_cast<int64_t>(random_() * (random_() % 3)));
      break;
    }
    case Field::CPPTYPE_ENUM: {
      const int n = static_cast<int>(random_() % field->enum_type()->value_count());
      const pb::EnumValueDescriptor* const value = field->enum_type()->value(n);
      if (add) {
        r.AddEnum(message, field, value);
      } else {
        r.SetEnum(message, field, value);
      }
      break;
    }
    case Field::CPPTYPE_STRING:
      if (add) {
        r.AddString(message, field, Text(*field));
      } else {
        r.SetString(message, field, Text(*field));
      }
      break;
    case Field::CPPTYPE_MESSAGE:
      if (field->is_map()) {
        FillEntry(r.AddMessage(message, field));
      } else {
        Fill(add ? r.AddMessage(message, field) : r.MutableMessage(message, field));
      }
      break;
    default:
      FAIL() << "no random value for " << field->full_name();
  }
}

void RandomMessages::FillEntry(pb::Message* entry) {
  Set(entry, entry->GetDescriptor()->map_key());
  Set(entry, entry->GetDescriptor()->map_value());
}

uint32_t RandomMessages::Number32() {
  switch (random_() % 4) {
    case 0:
      return 0;
    case 1:
      return 0xFFFFFFFF;
    default:
      return static_cast<uint32_t>(random_());
  }
}

std::string RandomMessages::Text(const Field& field) {
  if (IsDecimal(field)) return absl::StrCat(Number32());
  static constexpr absl::string_view kPieces[] = {"a",
                                                  "C:\\",
                                                  "\\",
                                                  "/",
                                                  "\"",
                                                  "ü",
                                                  "文",
                                                  "😀",
                                                  " ",
                                                  "..",
                                                  "\t",
                                                  "0",
                                                  absl::string_view("\0", 1)};
  std::string text;
  for (uint64_t n = random_() % 6; n > 0; --n) {
    text += std::string(kPieces[random_() % std::size(kPieces)]);
  }
  return text;
}

}  // namespace csi_proxy::integration

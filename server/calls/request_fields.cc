#include "server/calls/request_fields.h"

#include <google/protobuf/unknown_field_set.h>

#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "server/base/secret.h"
#include "server/base/status_macros.h"

namespace csi_proxy::rpc {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownFieldSet;

constexpr char kFieldPayload[] = "csi-proxy/unknown-field";

void WipeText(const std::string& text) {
  // The const_cast is needed because the message returns its own text only as const.
  Wipe(const_cast<char*>(text.data()), text.size());
}

void WipeUnknownTexts(const UnknownFieldSet& fields) {
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    if (field.type() == field.TYPE_LENGTH_DELIMITED) WipeText(field.length_delimited());
    if (field.type() == field.TYPE_GROUP) WipeUnknownTexts(field.group());
  }
}

}  // namespace

std::optional<std::string> UnknownFieldOf(const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return std::nullopt;
  const auto payload = status.GetPayload(kFieldPayload);
  if (!payload.has_value()) return std::nullopt;
  return std::string(*payload);
}

absl::Status CheckKnownFields(const Message& request) {
  const Reflection& reflection = *request.GetReflection();
  const UnknownFieldSet& unknown = reflection.GetUnknownFields(request);
  if (!unknown.empty()) {
    const int number = unknown.field(0).number();
    absl::Status refused = absl::InvalidArgumentError(
        absl::StrCat("field ", number, ": ", request.GetTypeName(),
                     " has no such field: update csi-proxy, or leave the field out"));
    refused.SetPayload(kFieldPayload, absl::Cord(absl::StrCat(request.GetTypeName(), ".", number)));
    return refused;
  }
  // Avoids ListFields(), because it would allocate for each call.
  const google::protobuf::Descriptor& type = *request.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* const field = type.field(i);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      if (!reflection.HasField(request, field)) continue;
      ABSL_RETURN_IF_ERROR(CheckKnownFields(reflection.GetMessage(request, field)));
    }
    for (int j = 0; field->is_repeated() && j < reflection.FieldSize(request, field); ++j) {
      ABSL_RETURN_IF_ERROR(CheckKnownFields(reflection.GetRepeatedMessage(request, field, j)));
    }
  }
  return absl::OkStatus();
}

void WipeTexts(Message* message) {
  const Reflection& reflection = *message->GetReflection();
  WipeUnknownTexts(reflection.GetUnknownFields(*message));
  // Must wipe only set fields, because all messages share one text for unset fields.
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  std::string unused;
  for (const FieldDescriptor* field : fields) {
    const bool text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    const bool nested = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!field->is_repeated()) {
      if (text) WipeText(reflection.GetStringReference(*message, field, &unused));
      if (nested) WipeTexts(reflection.MutableMessage(message, field));
      continue;
    }
    for (int i = 0; (text || nested) && i < reflection.FieldSize(*message, field); ++i) {
      if (text) WipeText(reflection.GetRepeatedStringReference(*message, field, i, &unused));
      if (nested) WipeTexts(reflection.MutableRepeatedMessage(message, field, i));
    }
  }
}

void DiscardUnknownFields(Message* message) {
  // Messages rarely have unknown fields, and the check is cheaper than discarding.
  if (!CheckKnownFields(*message).ok()) message->DiscardUnknownFields();
}

}  // namespace csi_proxy::rpc

#include "server/rpc/known_fields.h"

#include <google/protobuf/unknown_field_set.h>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"

namespace csi_proxy::rpc {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownFieldSet;

namespace {
constexpr char kFieldPayload[] = "csi-proxy/unknown-field";
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
                     " has no such field, and without it the call might not do what was asked"));
    refused.SetPayload(kFieldPayload, absl::Cord(absl::StrCat(request.GetTypeName(), ".", number)));
    return refused;
  }
  // ListFields() would allocate for each call.
  for (int i = 0; i < request.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = request.GetDescriptor()->field(i);
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

}  // namespace csi_proxy::rpc

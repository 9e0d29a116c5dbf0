#include "server/rpc/known_fields.h"

#include <google/protobuf/unknown_field_set.h>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"

namespace csi_proxy::rpc {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownFieldSet;

absl::Status CheckKnownFields(const Message& request) {
  const Reflection& reflection = *request.GetReflection();
  const UnknownFieldSet& unknown = reflection.GetUnknownFields(request);
  if (!unknown.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("field ", unknown.field(0).number(), ": ", request.GetTypeName(),
                     " has no such field, and without it the call might not do what was asked"));
  }
  // ListFields() would allocate for each call.
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

}  // namespace csi_proxy::rpc

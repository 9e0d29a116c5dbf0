#include "server/rpc/wipe_request.h"

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "server/base/secret.h"
#include "server/rpc/known_fields.h"

namespace csi_proxy::rpc {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void WipeText(const std::string& text) {
  // The message owns it, and only gives it out to be read.
  Wipe(const_cast<char*>(text.data()), text.size());
}

void WipeMessage(Message* message) {
  const Reflection& reflection = *message->GetReflection();
  // Only fields that are set are wiped: all messages share the text of another.
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  std::string unused;
  for (const FieldDescriptor* field : fields) {
    const bool text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    const bool nested = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!field->is_repeated()) {
      if (text) WipeText(reflection.GetStringReference(*message, field, &unused));
      if (nested) WipeMessage(reflection.MutableMessage(message, field));
      continue;
    }
    for (int i = 0; (text || nested) && i < reflection.FieldSize(*message, field); ++i) {
      if (text) WipeText(reflection.GetRepeatedStringReference(*message, field, i, &unused));
      if (nested) WipeMessage(reflection.MutableRepeatedMessage(message, field, i));
    }
  }
}

// All of ours have reflection; the shim's interface only asks for less.
Message* Full(google::protobuf::MessageLite* message) { return dynamic_cast<Message*>(message); }

}  // namespace

void WipeTexts(google::protobuf::MessageLite* message) {
  if (Message* const full = Full(message)) WipeMessage(full);
}

void DiscardUnknownFields(google::protobuf::MessageLite* message) {
  Message* const full = Full(message);
  // Nearly always there are none, and looking is cheaper.
  if (full != nullptr && !CheckKnownFields(*full).ok()) full->DiscardUnknownFields();
}

}  // namespace csi_proxy::rpc

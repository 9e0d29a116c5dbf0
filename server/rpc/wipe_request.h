// A request may hold a password, and fields that this version does not know.
#pragma once

#include <google/protobuf/message_lite.h>

namespace csi_proxy::rpc {

// Overwrites every text in the message, and in those within it, where it lies. The message is of no
// use afterwards.
void WipeTexts(google::protobuf::MessageLite* message);

// Frees what the message, and those within it, hold of unknown fields.
void DiscardUnknownFields(google::protobuf::MessageLite* message);

}  // namespace csi_proxy::rpc

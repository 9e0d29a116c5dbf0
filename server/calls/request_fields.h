// Checks messages for fields that a version does not define, and wipes the texts of messages.
#pragma once

#include <google/protobuf/message.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/calls/method_info.h"

namespace csi_proxy::rpc {

// Returns INVALID_ARGUMENT, with the field's number, if the request or a message within it has a
// field that this version lacks. A call that changes the node must not do less than the client
// asked. For example, a fork may have added a field for the file system to FormatVolume. A client
// of the fork would set that field and get NTFS. Released clients send no such fields.
absl::Status CheckKnownFields(const google::protobuf::Message& request);

// Checks a request of `method`. Always returns OK if the method only reads, because its answer does
// not depend on unknown fields.
inline absl::Status CheckKnownFields(const MethodInfo& method,
                                     const google::protobuf::Message& request) {
  return method.reads ? absl::OkStatus() : CheckKnownFields(request);
}

// Returns the field, such as `v1.FormatVolumeRequest.11`, if CheckKnownFields() returned `status`;
// otherwise nullopt.
std::optional<std::string> UnknownFieldOf(const absl::Status& status);

// Overwrites, in place, every text of the message, of its unknown fields and of messages within it.
// The caller must not use the message afterwards.
void WipeTexts(google::protobuf::Message* message);

// Frees the unknown fields of the message and of messages within it.
void DiscardUnknownFields(google::protobuf::Message* message);

}  // namespace csi_proxy::rpc

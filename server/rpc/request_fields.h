// Looks through the fields of messages: for those that a version does not know, and for texts to
// wipe.
#pragma once

#include <google/protobuf/message.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/rpc/method_info.h"

namespace csi_proxy::rpc {

// INVALID_ARGUMENT, with the field's number, if the request, or a message within it, has a field
// that this version lacks. A call that changes the node must not do less than it was asked for: a
// client of a fork asks FormatVolume for a file system in a field that no release has, and would
// get NTFS. Released clients send no such fields.
absl::Status CheckKnownFields(const google::protobuf::Message& request);

// The same for a request of `method`. OK if the method only reads: a question may be answered
// without the fields that this version lacks.
inline absl::Status CheckKnownFields(const MethodInfo& method,
                                     const google::protobuf::Message& request) {
  return method.reads ? absl::OkStatus() : CheckKnownFields(request);
}

// `v1.FormatVolumeRequest.11`, the field for which CheckKnownFields() returned the status; nothing
// for any other status.
std::optional<std::string> UnknownFieldOf(const absl::Status& status);

// Overwrites every text in the message, and in those within it, where it lies. The message is of no
// use afterwards.
void WipeTexts(google::protobuf::Message* message);

// Frees what the message, and those within it, hold of unknown fields.
void DiscardUnknownFields(google::protobuf::Message* message);

}  // namespace csi_proxy::rpc

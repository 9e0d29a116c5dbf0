// Requests that ask for more than a version knows.
#pragma once

#include <google/protobuf/message.h>

#include "absl/status/status.h"

namespace csi_proxy::rpc {

// INVALID_ARGUMENT, with the field's number, if the request, or a message within it, has a field
// that this version lacks. A call that changes the node must not do less than it was asked for: a
// client of a fork asks FormatVolume for a file system in a field that no release has, and would
// get NTFS. Released clients send no such fields.
absl::Status CheckKnownFields(const google::protobuf::Message& request);

}  // namespace csi_proxy::rpc

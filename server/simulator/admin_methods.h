// The methods of admin.proto by name, for whatever carries their messages: gRPC, or a pipe of a
// test's own.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/simulator/machine.h"

namespace csi_proxy::machine::simulated {

// Calls `method` with messages of its types. UNIMPLEMENTED when there is no such method.
absl::Status CallAdmin(Machine& node, absl::string_view method,
                       const google::protobuf::Message& request,
                       google::protobuf::Message* response);

// The same, serialized. INVALID_ARGUMENT when the request is not of the method's type.
absl::StatusOr<std::string> CallAdmin(Machine& node, absl::string_view method,
                                      const std::string& request);

}  // namespace csi_proxy::machine::simulated

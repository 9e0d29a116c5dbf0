// The administrator's side of the node that a running service has.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "csi_proxy/client_options.h"

namespace csi_proxy::integration {

// Calls a method of server/machine/simulated/admin.proto over gRPC, at the service with these pipes.
absl::Status CallAdminService(const ClientOptions& options, const std::string& method,
                              const google::protobuf::Message& request,
                              google::protobuf::Message* response);

// The same at a service whose node is one of doubles. On Windows, where it is the shipped program,
// over the pipe of the doubles, of which there is one on a machine.
absl::Status CallDoublesAdmin(const ClientOptions& options, const std::string& method,
                              const google::protobuf::Message& request,
                              google::protobuf::Message* response);

}  // namespace csi_proxy::integration

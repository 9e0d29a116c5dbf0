// The administrator of a simulated machine (admin.proto): a service, and its methods by name
// for callers that carry the messages another way, such as a test's own pipe.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/rpc/grpc_service.h"
#include "server/simulator/machine.h"

namespace csi_proxy::machine::simulator {

// Calls `method` with messages of its types. Returns UNIMPLEMENTED if there is no such method.
absl::Status CallAdmin(Machine& node, absl::string_view method,
                       const google::protobuf::Message& request,
                       google::protobuf::Message* response);

// Calls `method` with serialized messages. Returns INVALID_ARGUMENT if the request is not of the
// method's type.
absl::StatusOr<std::string> CallAdmin(Machine& node, absl::string_view method,
                                      const std::string& request);

inline constexpr char kAdminServiceName[] = "csi_proxy.simulated.Admin";

// Returns the service, which shares the ownership of the machine.
std::unique_ptr<rpc::RemoteService> NewAdminService(std::shared_ptr<Machine> node);

}  // namespace csi_proxy::machine::simulator

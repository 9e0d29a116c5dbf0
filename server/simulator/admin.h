// The administrator of a simulated machine, as admin.proto has him: a gRPC service, and its methods
// by name for whatever else carries their messages, such as a pipe of a test's own.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/simulator/machine.h"

namespace grpc {
class Service;
}

namespace csi_proxy::machine::simulated {

// Calls `method` with messages of its types. UNIMPLEMENTED when there is no such method.
absl::Status CallAdmin(Machine& node, absl::string_view method,
                       const google::protobuf::Message& request,
                       google::protobuf::Message* response);

// The same, serialized. INVALID_ARGUMENT when the request is not of the method's type.
absl::StatusOr<std::string> CallAdmin(Machine& node, absl::string_view method,
                                      const std::string& request);

inline constexpr char kAdminServiceName[] = "csi_proxy.simulated.Admin";

// The service keeps the machine.
std::unique_ptr<grpc::Service> NewAdminService(const std::shared_ptr<Machine>& node);

}  // namespace csi_proxy::machine::simulated

// The methods of a simulated machine's administrator (admin.proto), by name. The service serves
// them on a pipe (service/admin_service.h); tests may call them without a pipe.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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

}  // namespace csi_proxy::machine::simulator

// Calls of the admin service of a simulated machine that another process runs.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "csi_proxy/connection.h"

namespace csi_proxy::integration {

// Calls a method of server/simulator/admin.proto at the service that `options` reach.
absl::Status CallAdminService(const ClientOptions& options, const std::string& method,
                              const google::protobuf::Message& request,
                              google::protobuf::Message* response);

// Returns true if this machine is a double, i.e. the test runs under Wine with wine/double/.
bool MachineIsDouble();

// Calls a method of the admin service of this machine's double. REQUIRES: MachineIsDouble().
absl::Status CallMachineAdmin(const std::string& method, const google::protobuf::Message& request,
                              google::protobuf::Message* response);

// Returns the Windows error with which FaultRule() makes `call` fail.
uint32_t FailureOf(const std::string& call);

// Returns a fault as textproto: `call` fails with FailureOf() the next `times` times, or always if
// `times` is 0.
std::string FaultRule(const std::string& call, int times);

}  // namespace csi_proxy::integration

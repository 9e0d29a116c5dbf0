// The administrator's side of the simulated machine under a running service.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "csi_proxy/connection.h"

namespace csi_proxy::integration {

// Calls a method of server/simulator/admin.proto over gRPC, at the service with these
// pipes.
absl::Status CallAdminService(const ClientOptions& options, const std::string& method,
                              const google::protobuf::Message& request,
                              google::protobuf::Message* response);

// Returns whether the machine of this test is itself a double, which programs take for a Windows
// node: under Wine, see wine/node/.
bool MachineIsDouble();

// Calls a method of the administrator of that machine, of which there is one.
absl::Status CallMachineAdmin(const std::string& method, const google::protobuf::Message& request,
                              google::protobuf::Message* response);

// The error of Windows that means no more than that this call of the machine failed.
uint32_t FailureOf(const std::string& call);

// A rule, as textproto, that lets a call of the machine fail `times` times, or always when that is
// 0, by FailureOf().
std::string FaultRule(const std::string& call, int times);

}  // namespace csi_proxy::integration

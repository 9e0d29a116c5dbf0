// What every rpc of the driver needs: its status, its deadline, its required fields.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/status/status.h"
#include "csi_proxy/call_options.h"

namespace csi_proxy::sample_driver {

// absl's codes are gRPC's, and CSI's are among them.
inline grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

// The calls to csi-proxy share the deadline of the rpc they are made for.
CallOptions WithDeadlineOf(const grpc::ServerContext& context);

// INVALID_ARGUMENT when `value`, the request's `field`, is empty.
absl::Status Require(const char* field, const std::string& value);

}  // namespace csi_proxy::sample_driver

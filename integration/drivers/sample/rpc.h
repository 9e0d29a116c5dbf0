#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/call_options.h"

namespace csi_proxy::sample_driver {

// absl's codes equal gRPC's, which include CSI's.
inline grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

// Returns options with which calls to csi-proxy share the deadline of the rpc.
inline CallOptions WithDeadlineOf(const grpc::ServerContext& context) {
  // The limit if the caller sets no deadline. Formatting may take long.
  constexpr absl::Duration kLongest = absl::Minutes(10);
  const absl::Duration left = absl::FromChrono(context.deadline()) - absl::Now();
  return {.timeout = std::clamp(left, absl::Milliseconds(1), kLongest)};
}

// Returns INVALID_ARGUMENT if `value` is empty; `field` is its name in the request.
inline absl::Status Require(const char* field, const std::string& value) {
  if (!value.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": is missing"));
}

}  // namespace csi_proxy::sample_driver

// The needs of every rpc of the driver: its status, its deadline, its required fields.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/call_options.h"

namespace csi_proxy::sample_driver {

// absl's codes are gRPC's, and CSI's are among them.
inline grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

// The calls to csi-proxy share the deadline of the rpc they are made for.
inline CallOptions WithDeadlineOf(const grpc::ServerContext& context) {
  // Formatting may take long; without a deadline of the caller's this is the limit.
  constexpr absl::Duration kLongest = absl::Minutes(10);
  const absl::Duration left = absl::FromChrono(context.deadline()) - absl::Now();
  return {.timeout = std::clamp(left, absl::Milliseconds(1), kLongest)};
}

// INVALID_ARGUMENT when `value`, the request's `field`, is empty.
inline absl::Status Require(const char* field, const std::string& value) {
  if (!value.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": is missing"));
}

}  // namespace csi_proxy::sample_driver

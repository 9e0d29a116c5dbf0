// The names that Go's codes.Code prints (https://pkg.go.dev/google.golang.org/grpc/codes);
// dashboards match on them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/status/status.h"

namespace csi_proxy {

inline constexpr std::array<const char*, 17> kGoCodes = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

// The place of a code in kGoCodes. One that gRPC does not have counts as the last.
inline size_t GoCodeIndex(absl::StatusCode code) {
  return std::min(static_cast<size_t>(code), kGoCodes.size() - 1);
}

}  // namespace csi_proxy

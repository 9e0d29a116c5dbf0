// Names of released versions on which clients and dashboards rely.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace csi_proxy {

// The name of a version's pipe, `csi-proxy-volume-v1`.
inline std::string PipeName(absl::string_view group, absl::string_view version) {
  return absl::StrCat("csi-proxy-", group, "-", version);
}

// The names that Go's codes.Code prints (https://pkg.go.dev/google.golang.org/grpc/codes), for
// metrics.
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

// Names that clients and dashboards rely on; they must not change.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace csi_proxy {

// Returns the name of a version's pipe, `csi-proxy-volume-v1`.
inline std::string PipeName(absl::string_view group, absl::string_view version) {
  return absl::StrCat("csi-proxy-", group, "-", version);
}

// The names in metrics are the names of Go's codes.Code
// (https://pkg.go.dev/google.golang.org/grpc/codes).
inline constexpr std::array<const char*, 17> kGoCodes = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

// Returns the index of `code` in kGoCodes; the last index for a code that gRPC does not have.
inline size_t GoCodeIndex(absl::StatusCode code) {
  return std::min(static_cast<size_t>(code), kGoCodes.size() - 1);
}

}  // namespace csi_proxy

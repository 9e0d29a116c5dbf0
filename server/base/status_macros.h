// Defines ABSL_RETURN_IF_ERROR and ABSL_ASSIGN_OR_RETURN as absl/status/status_macros.h does, if
// Abseil lacks that header, as in Debian 12.
#pragma once

#if __has_include("absl/status/status_macros.h")
#include "absl/status/status_macros.h"
#else

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status `expr` from the function unless the status is OK. An `if` around the macro
// must have braces.
//
//   ABSL_RETURN_IF_ERROR(context.Check());
#define ABSL_RETURN_IF_ERROR(expr)                                     \
  if (absl::Status csi_proxy_status = (expr); csi_proxy_status.ok()) { \
  } else /* NOLINT */                                                  \
    return csi_proxy_status

// Assigns the value of the StatusOr `expr` to `lhs`, or returns its status from the function.
// Expands to several statements, so an `if` around the macro must have braces.
//
//   ABSL_ASSIGN_OR_RETURN(const VolumeId volume, host.GetVolumeHolding(context, path));
#define ABSL_ASSIGN_OR_RETURN(lhs, expr) \
  CSI_PROXY_ASSIGN_OR_RETURN(CSI_PROXY_JOIN_NAMES(csi_proxy_status_or_, __LINE__), lhs, expr)

#define CSI_PROXY_JOIN_NAMES_(a, b) a##b
#define CSI_PROXY_JOIN_NAMES(a, b) CSI_PROXY_JOIN_NAMES_(a, b)
// NOLINTBEGIN(bugprone-macro-parentheses): declarations take no parentheses.
#define CSI_PROXY_ASSIGN_OR_RETURN(status_or, lhs, expr)     \
  auto status_or = (expr);                                   \
  if (!status_or.ok()) return std::move(status_or).status(); \
  lhs = *std::move(status_or)
// NOLINTEND(bugprone-macro-parentheses)

#endif

// Helpers that the parts of the table share.
#pragma once

#include "integration/service/cases.h"

namespace csi_proxy::integration {

inline constexpr auto kOk = absl::StatusCode::kOk;
inline constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
inline constexpr auto kNotFound = absl::StatusCode::kNotFound;
inline constexpr auto kExists = absl::StatusCode::kAlreadyExists;
inline constexpr auto kDenied = absl::StatusCode::kPermissionDenied;
inline constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
inline constexpr auto kUnavailable = absl::StatusCode::kUnavailable;
inline constexpr auto kInternal = absl::StatusCode::kInternal;
// The texts with which a call tells of the fault that FaultRule() makes of a call of the machine.
inline constexpr char kQueryFailed[] = "0x80041001";
inline constexpr char kMethodFailed[] = "failed";

// cases_storage.cc, cases_volume.cc.
std::vector<Script> StorageScripts();
std::vector<Script> VolumeScripts();

}  // namespace csi_proxy::integration

// The calls of every rpc of every version, and the answers that they must give.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace csi_proxy::integration {

// A call. Texts are textproto of the version's own messages. In them, `$V` is the first volume id
// that the script received, and `$W` that id without its final backslash.
struct Case {
  const char* method;
  const char* request;
  // With kOk, `expected` is the whole response; otherwise a part of the error's text.
  absl::StatusCode code = absl::StatusCode::kOk;
  const char* expected = "";
  // If not empty, this call of the machine fails once.
  const char* fault = "";
};

// Calls that run in order on a fresh node, once for each version.
struct Script {
  const char* group;
  std::vector<const char*> versions;
  std::vector<Case> cases;
};

const std::vector<Script>& AllScripts();
// The parts of AllScripts(), in cases_storage.cc and cases_volume.cc.
std::vector<Script> StorageScripts();
std::vector<Script> VolumeScripts();

// Short names for the table.
inline constexpr auto kOk = absl::StatusCode::kOk;
inline constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
inline constexpr auto kNotFound = absl::StatusCode::kNotFound;
inline constexpr auto kExists = absl::StatusCode::kAlreadyExists;
inline constexpr auto kDenied = absl::StatusCode::kPermissionDenied;
inline constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
inline constexpr auto kUnavailable = absl::StatusCode::kUnavailable;
inline constexpr auto kInternal = absl::StatusCode::kInternal;
// The errors of calls for which FaultRule() made a query or a method of WMI fail.
inline constexpr char kQueryFailed[] = "0x80041001";
inline constexpr char kMethodFailed[] = "failed";

}  // namespace csi_proxy::integration

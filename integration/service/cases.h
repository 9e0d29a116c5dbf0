// The table of the answers that every rpc of every version must give.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace csi_proxy::integration {

// One call. Texts are textproto of the version's own messages; `$V` in them is the first volume id
// that the script has been told, `$W` the same without its last backslash.
struct Case {
  const char* method;
  const char* request;
  // OK, and the whole response; or another code, and a part of its text.
  absl::StatusCode code = absl::StatusCode::kOk;
  const char* expected = "";
  // When not empty, this call of the machine fails first.
  const char* fault = "";
};

// Calls made one after the other, on a fresh node, at each of the versions.
struct Script {
  const char* group;
  std::vector<const char*> versions;
  std::vector<Case> cases;
};

const std::vector<Script>& AllScripts();
// Its parts: cases_storage.cc, cases_volume.cc.
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
// The texts with which a call tells of the fault that FaultRule() makes of a call of the machine.
inline constexpr char kQueryFailed[] = "0x80041001";
inline constexpr char kMethodFailed[] = "failed";

}  // namespace csi_proxy::integration

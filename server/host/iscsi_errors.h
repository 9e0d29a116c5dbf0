// The errors of the iSCSI initiator.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::host {

// The initiator's answers
// (learn.microsoft.com/windows-hardware/drivers/storage/iscsi-status-qualifiers) and their meaning
// to a caller. Classes and values are not documented together (doubt 19 of doubts.md), so each
// answer is looked for in both channels.
struct Meaning {
  uint32_t code;
  const char* text;
  absl::StatusCode status;
};
inline constexpr Meaning kMeanings[] = {
    {0xEFFF0002, "Login failed", absl::StatusCode::kFailedPrecondition},
    {0xEFFF0003, "Connection failed", absl::StatusCode::kUnavailable},
    {0xEFFF0009, "Authentication failed", absl::StatusCode::kFailedPrecondition},
    {0xEFFF000A, "Authorization failed", absl::StatusCode::kFailedPrecondition},
    {0xEFFF000B, "Target not found", absl::StatusCode::kNotFound},
    {0xEFFF000C, "Target removed", absl::StatusCode::kNotFound},
    {0xEFFF0013, "Service unavailable", absl::StatusCode::kUnavailable},
    {0xEFFF0014, "Out of resources", absl::StatusCode::kResourceExhausted},
    {0xEFFF0015, "Connection exists already", absl::StatusCode::kAlreadyExists},
    {0xEFFF0016, "Session exists already", absl::StatusCode::kAlreadyExists},
    {0xEFFF001C, "Session not found", absl::StatusCode::kNotFound},
    {0xEFFF0032, "Portal exists already", absl::StatusCode::kAlreadyExists},
    {0xEFFF003F, "Target already logged in", absl::StatusCode::kAlreadyExists},
    {0xEFFF0040, "A disk of the session is in use", absl::StatusCode::kFailedPrecondition},
    {0xEFFF0043, "Portal not found", absl::StatusCode::kNotFound},
};

inline absl::Status Interpret(const absl::Status& status, uint32_t code,
                              absl::string_view operation) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.code != code) continue;
    return absl::Status(meaning.status, absl::StrCat(operation, " failed: ", meaning.text, " (0x",
                                                     absl::Hex(code), ")"));
  }
  return status;
}

}  // namespace csi_proxy::host

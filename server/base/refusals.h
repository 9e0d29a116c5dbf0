// How a refusal by Windows is reported. Each number that the product knows has one row: whose fault
// it is, what Windows means, and what an operator can do.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace csi_proxy {

// The tables of numbers.
enum class Refuser {
  kWin32,             // of a system call
  kMapping,           // of a system call, as the answer to mapping a share; no words of its own
  kEncryptedMapping,  // likewise, where encryption is required; what it lacks is in kMapping
  kHresult,           // of a call of WMI, or of the iSCSI initiator behind it
  kStorage,           // ReturnValue of a method of the Storage Management API
};

struct Refusal {
  uint32_t number;
  // Never INVALID_ARGUMENT, PERMISSION_DENIED, RESOURCE_EXHAUSTED or DEADLINE_EXCEEDED, which the
  // product returns itself for fields, paths, its limits and the caller's time.
  absl::StatusCode code;
  // In English, without a period.
  const char* words;
  // Empty if the words say it all.
  const char* advice = "";
};

// Returns the row of a number, or null if it is unknown.
const Refusal* FindRefusal(Refuser refuser, uint32_t number);
absl::Span<const Refusal> AllRefusals(Refuser refuser);

// Returns `error` with ` (advice)` after its message. Replaces advice at the message's end, because
// the caller that knows the operation has the last word.
absl::Status Advise(const absl::Status& error, absl::string_view advice);

// Returns `error` with the code and advice of its Win32 code's row; unchanged if there is no row.
// REQUIRES: `error` has a Win32 code.
absl::Status RefusedBy(Refuser refuser, const absl::Status& error);

}  // namespace csi_proxy

// What becomes of a refusal by Windows. One row for each number that the product knows says whose
// fault it is, what Windows means, and what a person can do.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace csi_proxy {

// The lists of numbers.
enum class Refuser {
  kWin32,             // of a system call
  kMapping,           // of a system call, as the answer to mapping a share; no words of its own
  kEncryptedMapping,  // likewise, where encryption is required; what it lacks is in kMapping
  kHresult,           // of a call of WMI, or of the iSCSI initiator behind it
  kStorage,           // ReturnValue of a method of the Storage Management API
};

struct Refusal {
  uint32_t number;
  // Never INVALID_ARGUMENT, PERMISSION_DENIED, RESOURCE_EXHAUSTED or DEADLINE_EXCEEDED: these are
  // the product's own answers on fields, paths, its limits and the caller's time.
  absl::StatusCode code;
  // In English, without the period.
  const char* words;
  // Empty where the words say it all.
  const char* advice = "";
};

// Returns null for a number that is not known.
const Refusal* FindRefusal(Refuser refuser, uint32_t number);
absl::Span<const Refusal> AllRefusals(Refuser refuser);

// Returns `error` with ` (advice)` behind its message. Advice that the message ends with makes way,
// so that the caller that knows the operation has the last word.
absl::Status Advise(const absl::Status& error, absl::string_view advice);

// Returns `error`, which has a Win32 code, with code and advice of that number's row; as it is if
// there is none.
absl::Status RefusedBy(Refuser refuser, const absl::Status& error);

}  // namespace csi_proxy

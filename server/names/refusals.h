// The tables that translate error numbers of Windows. A row has a number's status code, Windows'
// text, and advice for an operator; text or advice may be empty.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace csi_proxy {

// The kind of operation that returned an error number. Each kind has its own table.
enum class Refuser {
  kWin32,             // a system call; FindRefusal() also searches kSignIn
  kMapping,           // a system call that maps a share; FindRefusal() also searches kSignIn;
                      // `words` are empty
  kEncryptedMapping,  // a system call that maps a share with encryption; FindRefusal() also
                      // searches kMapping; `words` are empty
  kSignIn,            // a connection to a server and the sign-in there
  kInitiator,         // a system call behind a class of iSCSI; `words` of its rows are empty
  kHresult,           // a call of WMI, or of the iSCSI initiator behind it
  kStorage,           // ReturnValue of a method of the Storage Management API
};

struct Refusal {
  uint32_t number;
  // Never INVALID_ARGUMENT, PERMISSION_DENIED, RESOURCE_EXHAUSTED or DEADLINE_EXCEEDED, because the
  // product returns these itself for fields, paths, its limits and the caller's time.
  absl::StatusCode code;
  // The English text or the name of a constant, without a final period; may be empty.
  const char* words;
  // What an operator can do about the error; empty if `words` say enough.
  const char* advice = "";
};

// Returns the row of a number, or null if it is unknown.
const Refusal* FindRefusal(Refuser refuser, uint32_t number);
absl::Span<const Refusal> AllRefusals(Refuser refuser);

// Returns `error` with ` (advice)` after its message. If an earlier Advise() has added advice,
// replaces that, because the outer caller knows more about the operation.
absl::Status Advise(const absl::Status& error, absl::string_view advice);

// Returns `error` with the status code and advice of the row for its Win32 code; unchanged if there
// is no row or no Win32 code.
absl::Status RefusedBy(Refuser refuser, const absl::Status& error);

}  // namespace csi_proxy

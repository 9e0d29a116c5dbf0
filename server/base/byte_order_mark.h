// The byte order mark that editors and PowerShell write at the start of a text file.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace csi_proxy {

// Returns the text without a leading mark of UTF-8, which Windows PowerShell 5.1 writes. Returns
// INVALID_ARGUMENT for a mark of UTF-16, because no program here reads UTF-16.
inline absl::StatusOr<absl::string_view> WithoutByteOrderMark(absl::string_view text) {
  if (text.substr(0, 2) == "\xFF\xFE" || text.substr(0, 2) == "\xFE\xFF") {
    return absl::InvalidArgumentError("is UTF-16: save it as UTF-8");
  }
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  return text;
}

}  // namespace csi_proxy

// The mark with which editors and PowerShell begin a text file.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace csi_proxy {

// Returns the text behind the mark of UTF-8, which Windows PowerShell 5.1 writes. INVALID_ARGUMENT
// for the marks of UTF-16, whose text no program here can read.
inline absl::StatusOr<absl::string_view> WithoutByteOrderMark(absl::string_view text) {
  if (text.substr(0, 2) == "\xFF\xFE" || text.substr(0, 2) == "\xFE\xFF") {
    return absl::InvalidArgumentError("is UTF-16: save it as UTF-8");
  }
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  return text;
}

}  // namespace csi_proxy

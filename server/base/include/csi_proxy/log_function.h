// How the libraries of csi-proxy pass log lines to the program that contains them.
#pragma once

#include <concepts>
#include <functional>

#include "absl/strings/string_view.h"

namespace csi_proxy {

enum class Severity { kInfo, kWarning, kError };

// A log line without its line end, and the place in the source code that wrote the line. Text
// converts to a LogText implicitly, so the place is where a LogFunction or LineFunction is called.
// Does not own the text.
struct LogText {
  // The defaults are not std::source_location's, because clang 14 lacks that class.
  template <std::convertible_to<absl::string_view> Text>
  LogText(const Text& line_text, const char* written_in = __builtin_FILE(),
          int written_at = __builtin_LINE())
      : text(line_text), file(written_in), line(written_at) {}
  operator absl::string_view() const { return text; }

  absl::string_view text;
  const char* file;
  int line;
};

// Receives one log line. Must be thread-safe, and must not call the object that logs. Lines never
// contain secrets. A function of `(Severity, absl::string_view)` converts to a
// LogFunction.
using LogFunction = std::function<void(Severity severity, const LogText& line)>;

// Receives the lines of one severity.
using LineFunction = std::function<void(const LogText& line)>;

// Escapes a line and writes it to standard error in klog's format. The default LogFunction of a
// program.
void LogToStderr(Severity severity, const LogText& line);

}  // namespace csi_proxy

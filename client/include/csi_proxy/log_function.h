// Libraries of csi-proxy hand their log to the program that they are part of.
#pragma once

#include <functional>

#include "absl/strings/string_view.h"

namespace csi_proxy {

// The severity of a log line.
enum class Severity { kInfo, kWarning, kError };

// Receives a log line, without a line end. Called by many threads at once, and must not call the
// object that logs. Lines never contain secrets.
using LogFunction = std::function<void(Severity severity, absl::string_view line)>;

}  // namespace csi_proxy

// How the libraries of csi-proxy pass log lines to the program that contains them.
#pragma once

#include <functional>

#include "absl/strings/string_view.h"

namespace csi_proxy {

enum class Severity { kInfo, kWarning, kError };

// Receives one log line, without a line end. Many threads call it at once. Must not call the object
// that logs. Lines never contain secrets.
using LogFunction = std::function<void(Severity severity, absl::string_view line)>;

}  // namespace csi_proxy

// The address of an HTTP server, as flags give it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy {

// `HOST:PORT` or `:PORT`, the syntax of Go's net.Listen; `[::1]:PORT` for IPv6.
struct HostPort {
  // Empty for `:PORT`; an IPv6 address has no brackets.
  std::string host;
  int port = 0;

  // Parses an address. Returns INVALID_ARGUMENT, naming `option`, for other text.
  static absl::StatusOr<HostPort> Parse(absl::string_view option, absl::string_view text);
  friend auto operator<=>(const HostPort&, const HostPort&) = default;
};
std::string ToString(const HostPort& address);

// Returns true if the host is a loopback address (127.0.0.0/8 or ::1); false for a name.
bool IsLoopback(const HostPort& address);

}  // namespace csi_proxy

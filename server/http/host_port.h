// The address that a flag gives an HTTP server, or who asks one.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy {

// `HOST:PORT` or `:PORT`, as Go's net.Listen takes it; `[::1]:PORT` for IPv6.
struct HostPort {
  // Empty for `:PORT`. An IPv6 address is without its brackets.
  std::string host;
  int port = 0;

  // INVALID_ARGUMENT, naming `option`, for anything else.
  static absl::StatusOr<HostPort> Parse(absl::string_view option, absl::string_view text);
  friend auto operator<=>(const HostPort&, const HostPort&) = default;
};
std::string ToString(const HostPort& address);

// Tells whether the host is an address, and no name, within this machine: of 127.0.0.0/8, or ::1.
bool IsLoopback(const HostPort& address);

}  // namespace csi_proxy

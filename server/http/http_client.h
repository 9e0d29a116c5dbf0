// A client of HTTP, of which Boost.Beast writes the requests and reads the answers. What it asks
// and gets may be secret: its memory is wiped.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/base/secret.h"
#include "server/http/host_port.h"

namespace csi_proxy {

struct HttpQuestion {
  HostPort address;
  // The path, as `/metrics`.
  std::string target;
  // Headers beside Host. The values must be free of line ends.
  std::vector<std::pair<std::string, Secret>> headers = {};
  // The name of what is asked for, as `metrics`, for the texts of errors.
  std::string subject;
  // Holds for connecting, asking and reading together, but not for looking up the host's name.
  absl::Duration timeout;
  size_t max_bytes = 0;
};

struct HttpReply {
  int code = 0;
  Secret body;
};

// Asks with GET over a connection of its own, without encryption. The reply may have any code; a
// redirect is not followed. UNAVAILABLE when nobody answers, or not in HTTP; DEADLINE_EXCEEDED;
// RESOURCE_EXHAUSTED when the body has more than `max_bytes`. Statuses quote nothing of the answer.
absl::StatusOr<HttpReply> HttpGet(const HttpQuestion& question);

}  // namespace csi_proxy

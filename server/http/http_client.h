// An HTTP client over Boost.Beast. Wipes all memory of requests and answers, which may be secret.
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
  // The path, such as `/metrics`.
  std::string target;
  // Headers beside Host. Values must not contain line ends.
  std::vector<std::pair<std::string, Secret>> headers = {};
  // The name of the requested thing, such as `metrics`, for error texts.
  std::string subject;
  // For connecting, asking and reading together. The look-up of the host's name is not limited.
  absl::Duration timeout;
  size_t max_bytes = 0;
};

struct HttpReply {
  int code = 0;
  Secret body;
};

// Sends a GET on a new, unencrypted connection. Returns a reply of any code; does not follow
// redirects. Returns UNAVAILABLE if there is no HTTP server, DEADLINE_EXCEEDED after `timeout`, and
// RESOURCE_EXHAUSTED for a body over `max_bytes`. Errors quote nothing of the answer.
absl::StatusOr<HttpReply> HttpGet(const HttpQuestion& question);

}  // namespace csi_proxy

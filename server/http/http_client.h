// An HTTP client over Boost.Beast. Wipes requests and answers from memory; they may be secret.
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
  HostPort address = {};
  // The path, such as `/metrics`.
  std::string target;
  // Sends PUT without a body, else GET.
  bool put = false;
  // Headers beside Host. The values must be free of line ends.
  std::vector<std::pair<std::string, Secret>> headers = {};
  // The name of the requested thing, such as `metrics`, for error texts.
  std::string subject = {};
  // The time for connecting, asking and reading together. The look-up of the host's name has no
  // limit.
  absl::Duration timeout = absl::ZeroDuration();
  size_t max_bytes = 0;
};

struct HttpReply {
  int code = 0;
  Secret body;
};

// Sends the question over a new connection, without encryption. Returns a reply with any code;
// follows no redirect. Returns UNAVAILABLE if the server does not answer, or not in HTTP,
// DEADLINE_EXCEEDED after `timeout`, and RESOURCE_EXHAUSTED if the body has more than `max_bytes`.
// No error quotes the answer.
absl::StatusOr<HttpReply> AskHttp(const HttpQuestion& question);

}  // namespace csi_proxy

// An HTTP client over Boost.Beast. Wipes requests and answers from memory, because they may be
// secret.
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
  // True for a PUT without a body, false for a GET.
  bool put = false;
  // Headers in addition to Host, Connection and Content-Length. REQUIRES: no value has a line end.
  std::vector<std::pair<std::string, Secret>> headers = {};
  // The name of the requested thing, such as `metrics`, for error texts.
  std::string subject = {};
  // The time limit for connecting, sending and reading together. The look-up of the host's name has
  // no limit.
  absl::Duration timeout = absl::ZeroDuration();
  size_t max_bytes = 0;
};

struct HttpReply {
  int code = 0;
  Secret body;
};

// Sends the question over a new connection, without encryption. Returns the reply whatever its code
// is; follows no redirect. Returns UNAVAILABLE if no server can be reached or the answer is not
// HTTP, DEADLINE_EXCEEDED after `timeout`, and RESOURCE_EXHAUSTED if the body has more than
// `max_bytes`. No error quotes the answer.
absl::StatusOr<HttpReply> AskHttp(const HttpQuestion& question);

}  // namespace csi_proxy

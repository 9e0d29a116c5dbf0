#include "client/ctl/top/fetch.h"

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/http/http_client.h"

namespace csi_proxy::ctl::top {
namespace {

// The most bytes of a reply: about twenty times the size of the metrics of all rpcs and 64 clients.
constexpr size_t kMaxBytes = 16 << 20;

}  // namespace

absl::StatusOr<HostPort> ParseMetricsAddress(absl::string_view option, absl::string_view text) {
  absl::StatusOr<HostPort> address = HostPort::Parse(option, text);
  if (!address.ok()) return address;
  if (address->port == 0) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": nobody serves at port 0"));
  }
  if (address->host.empty()) address->host = "127.0.0.1";
  return address;
}

absl::StatusOr<std::string> FetchMetrics(const HostPort& address, absl::Duration timeout) {
  ABSL_ASSIGN_OR_RETURN(const HttpReply reply, AskHttp({.address = address,
                                                        .target = "/metrics",
                                                        .subject = "metrics",
                                                        .timeout = timeout,
                                                        .max_bytes = kMaxBytes}));
  if (reply.code != 200) {
    return absl::FailedPreconditionError(absl::StrCat(
        ToString(address), " has no /metrics: it answers with the HTTP status ", reply.code));
  }
  return reply.body.Reveal();
}

}  // namespace csi_proxy::ctl::top

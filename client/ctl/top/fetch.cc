#include "client/ctl/top/fetch.h"

#include <civetweb.h>

#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"

namespace csi_proxy::ctl::top {
namespace {

// Some twenty times what every rpc and 64 clients come to.
constexpr size_t kMaxBytes = 16 << 20;
constexpr int kHttpOk = 200;

// Civetweb's own state, without which it has no sockets on Windows.
class Library {
 public:
  Library() { mg_init_library(0); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { mg_exit_library(); }
};

}  // namespace

absl::StatusOr<MetricsAddress> ParseMetricsAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  MetricsAddress address;
  if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(colon + 1), &address.port) ||
      address.port < 1 || address.port > 65535) {
    return absl::InvalidArgumentError("is not an address as 127.0.0.1:9090 or :9090");
  }
  absl::string_view host = absl::string_view(text).substr(0, colon);
  if (absl::ConsumePrefix(&host, "[") && !absl::ConsumeSuffix(&host, "]")) {
    return absl::InvalidArgumentError("has a [ without its ]");
  }
  address.host = host.empty() ? "127.0.0.1" : std::string(host);
  return address;
}

absl::StatusOr<std::string> FetchMetrics(const MetricsAddress& address, absl::Duration timeout) {
  const absl::Time end = absl::Now() + timeout;
  const std::string where = absl::StrCat(address.host, ":", address.port);
  const Library library;
  char error[256] = "";
  const std::unique_ptr<mg_connection, void (*)(mg_connection*)> connection(
      mg_connect_client(address.host.c_str(), address.port, 0, error, sizeof(error)),
      &mg_close_connection);
  if (connection == nullptr) {
    return absl::UnavailableError(absl::StrCat("nobody serves metrics at ", where, ": ", error));
  }
  mg_printf(connection.get(), "GET /metrics HTTP/1.0\r\nHost: %s\r\n\r\n", where.c_str());
  const int wait = static_cast<int>(absl::ToInt64Milliseconds(timeout));
  if (mg_get_response(connection.get(), error, sizeof(error), wait) < 0) {
    if (absl::Now() >= end) {
      return absl::DeadlineExceededError(absl::StrCat(where, " did not answer in time"));
    }
    return absl::UnavailableError(
        absl::StrCat(where, " does not answer as an HTTP server: ", error));
  }
  const int code = mg_get_response_info(connection.get())->status_code;
  if (code != kHttpOk) {
    return absl::FailedPreconditionError(
        absl::StrCat(where, " has no /metrics: it answers with the HTTP status ", code));
  }
  std::string text;
  char buffer[4096];
  for (int n; (n = mg_read(connection.get(), buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
    if (text.size() > kMaxBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the metrics at ", where, " are larger than ", kMaxBytes, " bytes"));
    }
    if (absl::Now() > end) {
      return absl::DeadlineExceededError(absl::StrCat(where, " did not answer in time"));
    }
  }
  return text;
}

}  // namespace csi_proxy::ctl::top

#include "client/ctl/top/fetch.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include "absl/strings/str_cat.h"

namespace csi_proxy::ctl::top {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

// Some twenty times what every rpc and 64 clients come to.
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
  const std::string where = ToString(address);
  asio::io_context io(1);
  beast::tcp_stream stream(io);
  // Runs what `begin` begins to its end.
  const auto await = [&io](auto begin) {
    error_code result;
    begin([&result](error_code error, auto&&...) { result = error; });
    io.restart();
    io.run();
    return result;
  };
  const auto failure = [&where](error_code error, absl::string_view otherwise) -> absl::Status {
    if (error == beast::error::timeout) {
      return absl::DeadlineExceededError(absl::StrCat(where, " did not answer in time"));
    }
    if (error == http::error::body_limit) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the metrics at ", where, " are larger than ", kMaxBytes, " bytes"));
    }
    return absl::UnavailableError(absl::StrCat(otherwise, ": ", error.message()));
  };

  error_code error;
  const auto found = tcp::resolver(io).resolve(address.host, absl::StrCat(address.port),
                                               tcp::resolver::numeric_service, error);
  const std::string nobody = absl::StrCat("nobody serves metrics at ", where);
  if (error) return failure(error, nobody);
  // The limit holds for connecting, asking and reading together.
  stream.expires_after(absl::ToChronoMilliseconds(timeout));
  error = await([&](auto done) { stream.async_connect(found, done); });
  if (error) return failure(error, nobody);

  http::request<http::empty_body> request(http::verb::get, "/metrics", 10);
  request.set(http::field::host, where);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> answer;
  answer.body_limit(kMaxBytes);
  error = await([&](auto done) { http::async_write(stream, request, done); });
  // The header for itself: Beast 1.74 forgets the body's limit where it reads both at once
  // (basic_parser::put() goes on after finish_header() has failed, when it is eager).
  if (!error) {
    error = await([&](auto done) { http::async_read_header(stream, buffer, answer, done); });
  }
  if (!error) error = await([&](auto done) { http::async_read(stream, buffer, answer, done); });
  if (error) return failure(error, absl::StrCat(where, " does not answer as an HTTP server"));
  if (answer.get().result() != http::status::ok) {
    return absl::FailedPreconditionError(absl::StrCat(
        where, " has no /metrics: it answers with the HTTP status ", answer.get().result_int()));
  }
  return std::move(answer.get().body());
}

}  // namespace csi_proxy::ctl::top

#include "server/http/http_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace csi_proxy {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

// The size of the read buffer in bytes. The head of an answer or of a chunk must fit; a body passes
// through the buffer in pieces.
constexpr size_t kMaxAnswerHeadBytes = 16 * 1024;

// An allocator that wipes the memory that it frees.
template <typename T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <typename U>
  explicit(false) WipingAllocator(const WipingAllocator<U>& /*other*/) {}
  T* allocate(size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* data, size_t count) {
    Wipe(static_cast<void*>(data), count * sizeof(T));
    std::allocator<T>().deallocate(data, count);
  }
  friend bool operator==(const WipingAllocator&, const WipingAllocator&) { return true; }
};

using Bytes = http::vector_body<char, WipingAllocator<char>>;
using Request = http::request<http::empty_body, http::basic_fields<WipingAllocator<char>>>;

Request MakeRequest(const HttpQuestion& question, const std::string& where) {
  Request request(question.put ? http::verb::put : http::verb::get, question.target, 11);
  request.set(http::field::host, where);
  for (const auto& [name, value] : question.headers) request.set(name, value.Reveal());
  request.keep_alive(false);
  request.prepare_payload();
  return request;
}

}  // namespace

absl::StatusOr<HttpReply> AskHttp(const HttpQuestion& question) {
  const std::string where = ToString(question.address);
  asio::io_context io(1);
  beast::tcp_stream stream(io);
  // Starts an asynchronous operation and runs it to its end. Returns its error.
  const auto await = [&io](auto begin) {
    error_code result;
    begin([&result](error_code error, auto&&...) { result = error; });
    io.restart();
    io.run();
    return result;
  };
  const auto failure = [&](error_code error, absl::string_view otherwise) -> absl::Status {
    if (error == beast::error::timeout) {
      return absl::DeadlineExceededError(absl::StrCat(where, " did not answer in time"));
    }
    if (error == http::error::body_limit) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the answer of ", where, " is larger than ", question.max_bytes, " bytes"));
    }
    return absl::UnavailableError(absl::StrCat(otherwise, ": ", error.message()));
  };

  error_code error;
  const auto found =
      tcp::resolver(io).resolve(question.address.host, absl::StrCat(question.address.port),
                                tcp::resolver::numeric_service, error);
  const std::string nobody = absl::StrCat("nothing serves ", question.subject, " at ", where);
  if (error) return failure(error, nobody);
  stream.expires_after(absl::ToChronoNanoseconds(question.timeout));
  error = await([&](auto done) { stream.async_connect(found, done); });
  if (error) return failure(error, nobody);

  const Request request = MakeRequest(question, where);
  beast::basic_flat_buffer<WipingAllocator<char>> buffer(kMaxAnswerHeadBytes);
  http::response_parser<Bytes, WipingAllocator<char>> answer;
  answer.body_limit(question.max_bytes);
  answer.header_limit(kMaxAnswerHeadBytes);
  error = await([&](auto done) { http::async_write(stream, request, done); });
  // Reads the header separately, because Beast 1.74 ignores the body's limit when it reads both
  // together (an eager basic_parser::put() goes on after finish_header() has failed).
  if (!error) {
    error = await([&](auto done) { http::async_read_header(stream, buffer, answer, done); });
  }
  if (!error) error = await([&](auto done) { http::async_read(stream, buffer, answer, done); });
  if (error) return failure(error, absl::StrCat(where, " does not answer as an HTTP server"));
  const auto& body = answer.get().body();
  return HttpReply{.code = static_cast<int>(answer.get().result_int()),
                   .body = Secret(std::string_view(body.data(), body.size()))};
}

}  // namespace csi_proxy

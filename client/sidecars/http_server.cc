#include "client/sidecars/http_server.h"

#include <civetweb.h>

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace csi_proxy::sidecars {
namespace {

// Requests that are answered at once. Whoever is silent on a connection holds one for
// kRequestTimeout, and must not keep the kubelet out, which asks one at a time.
constexpr char kThreads[] = "16";
constexpr char kRequestTimeoutMs[] = "1000";

class Server final : public HttpServer {
 public:
  explicit Server(std::map<std::string, HttpHandler, std::less<>> paths)
      : paths_(std::move(paths)) {
    mg_init_library(0);
  }
  ~Server() override {
    if (context_ != nullptr) mg_stop(context_);
    mg_exit_library();
  }

  absl::Status Start(const std::string& ports) {
    const char* options[] = {
        "listening_ports", ports.c_str(),       "num_threads", kThreads, "request_timeout_ms",
        kRequestTimeoutMs, "enable_keep_alive", "no",          nullptr};
    mg_callbacks callbacks{};
    callbacks.begin_request = &Server::Request;
    callbacks.log_message = [](const mg_connection* connection, const char* message) {
      auto* const self = static_cast<Server*>(mg_get_user_data(mg_get_context(connection)));
      if (self->context_ == nullptr) absl::StrAppend(&self->complaint_, " ", message);
      return 1;  // it is dealt with
    };
    std::array<char, 256> text{};
    mg_init_data init{.callbacks = &callbacks, .user_data = this, .configuration_options = options};
    mg_error_data error{.code = nullptr, .text = text.data(), .text_buffer_size = text.size()};
    context_ = mg_start2(&init, &error);
    if (context_ == nullptr) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen on ", ports, ": ", text.data(), complaint_));
    }
    return absl::OkStatus();
  }

  int port() const override {
    std::array<mg_server_port, 4> ports{};
    const int count = mg_get_server_ports(context_, static_cast<int>(ports.size()), ports.data());
    return count > 0 ? ports[0].port : 0;
  }

 private:
  static int Request(mg_connection* connection) {
    const mg_request_info* const request = mg_get_request_info(connection);
    const auto& paths = static_cast<const Server*>(request->user_data)->paths_;
    const auto found = paths.find(absl::string_view(request->local_uri));
    const HttpAnswer answer = found == paths.end()
                                  ? HttpAnswer{.code = 404, .body = "404 page not found\n"}
                                  : found->second();
    mg_response_header_start(connection, answer.code);
    mg_response_header_add(connection, "Content-Type", answer.content_type.c_str(), -1);
    mg_response_header_add(connection, "X-Content-Type-Options", "nosniff", -1);
    mg_response_header_add(connection, "Content-Length", absl::StrCat(answer.body.size()).c_str(),
                           -1);
    mg_response_header_send(connection);
    if (absl::string_view(request->request_method) != "HEAD") {
      mg_write(connection, answer.body.data(), answer.body.size());
    }
    return answer.code;
  }

  const std::map<std::string, HttpHandler, std::less<>> paths_;
  // What civetweb says while it starts.
  std::string complaint_;
  mg_context* context_ = nullptr;
};

}  // namespace

absl::StatusOr<HttpEndpoint> HttpEndpoint::Parse(absl::string_view option, absl::string_view text) {
  HttpEndpoint endpoint;
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos ||
      !absl::SimpleAtoi(text.substr(colon + 1), &endpoint.port) || endpoint.port < 0 ||
      endpoint.port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": \"", text, "\" is not HOST:PORT with a port from 0 to 65535"));
  }
  absl::string_view host = text.substr(0, colon);
  const bool brackets = absl::ConsumePrefix(&host, "[");
  if (brackets != absl::ConsumeSuffix(&host, "]") ||
      brackets != (host.find(':') != absl::string_view::npos) ||
      host.find_first_of(",+/ ") != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": \"", text, "\" has no valid host; IPv6 is written [::1]:PORT"));
  }
  // The unspecified addresses.
  if (host != "0.0.0.0" && host != "::") endpoint.host = std::string(host);
  return endpoint;
}

std::string ToString(const HttpEndpoint& endpoint) {
  const bool brackets = endpoint.host.find(':') != std::string::npos;
  return absl::StrCat(brackets ? "[" : "", endpoint.host, brackets ? "]" : "", ":", endpoint.port);
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(
    const HttpEndpoint& endpoint, std::map<std::string, HttpHandler, std::less<>> paths) {
  // civetweb takes a lone port for IPv4's, and +PORT for both families'.
  std::vector<std::string> attempts = {ToString(endpoint)};
  if (endpoint.host.empty()) {
    attempts = {absl::StrCat("+", endpoint.port), absl::StrCat(endpoint.port)};
  }
  absl::Status status;
  for (const std::string& ports : attempts) {
    auto server = std::make_unique<Server>(paths);
    status = server->Start(ports);
    if (status.ok()) return server;
  }
  return status;
}

}  // namespace csi_proxy::sidecars

// A session and nghttp2's client side, connected within the test.
#pragma once

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/transport/account.h"
#include "server/transport/session.h"
#include "server/transport/wire.h"

namespace csi_proxy::transport {

// Records what a session tells its owner. Methods whose path begins with `/unknown` do not exist,
// and those with `/many` have many requests.
class TestHandler : public SessionHandler {
 public:
  Method Find(absl::string_view path) override {
    if (path.substr(0, 8) == "/unknown") return Method::kUnknown;
    return path.substr(0, 5) == "/many" ? Method::kManyRequests : Method::kOneRequest;
  }
  void OnRequest(Request request) override { requests.push_back(std::move(request)); }
  void OnRequestsEnd(CallId call) override { ends.push_back(call); }
  void OnCancel(CallId call) override { cancelled.push_back(call); }
  void OnRoom() override { ++rooms; }

  std::vector<Request> requests;
  std::vector<CallId> ends;
  std::vector<CallId> cancelled;
  int rooms = 0;
};

// The headers of a request, in order.
using Headers = std::vector<std::pair<std::string, std::string>>;

inline Headers CallHeaders(absl::string_view path = "/v1.Volume/Mount") {
  // grpc-go sends these headers to a pipe: the authority is the pipe's path.
  return {{":method", "POST"},
          {":scheme", "http"},
          {":path", std::string(path)},
          {":authority", R"(\\.\pipe\csi-proxy-volume-v1)"},
          {"content-type", "application/grpc"},
          {"user-agent", "grpc-go/1.38.0"},
          {"te", "trailers"}};
}

inline std::string Message(absl::string_view text) {
  std::string bytes;
  AppendMessage(text, &bytes);
  return bytes;
}

// What a client has received on a stream.
struct Reply {
  // Keyed by name. A comma joins the values of a repeated name.
  std::map<std::string, std::string> headers;
  int header_blocks = 0;
  std::string data;
  bool closed = false;
  uint32_t error = 0;

  int grpc_status() const {
    const auto found = headers.find("grpc-status");
    int code = -1;
    if (found != headers.end() && !absl::SimpleAtoi(found->second, &code)) code = -2;
    return code;
  }
  std::string text() const {
    const auto found = headers.find("grpc-message");
    return found != headers.end() ? found->second : "";
  }
};

// A client over nghttp2.
class TestClient {
 public:
  TestClient() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks,
        [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
           const uint8_t* value, size_t value_size, uint8_t, void* self) {
          std::string& field = static_cast<TestClient*>(self)
                                   ->replies[frame->hd.stream_id]
                                   .headers[std::string(name, name + name_size)];
          if (!field.empty()) field += ",";
          field.append(value, value + value_size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
          auto* const client = static_cast<TestClient*>(self);
          client->frames.push_back(frame->hd.type);
          if (frame->hd.type == NGHTTP2_HEADERS) {
            ++client->replies[frame->hd.stream_id].header_blocks;
          }
          if (frame->hd.type == NGHTTP2_GOAWAY) client->goaway = frame->goaway.error_code;
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks,
        [](nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size, void* self) {
          static_cast<TestClient*>(self)->replies[id].data.append(data, data + size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        callbacks, [](nghttp2_session*, int32_t id, uint32_t error, void* self) {
          Reply& reply = static_cast<TestClient*>(self)->replies[id];
          reply.closed = true;
          reply.error = error;
          return 0;
        });
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    nghttp2_option_set_no_http_messaging(option, 1);
    // Lets a test break the limit of streams.
    nghttp2_option_set_peer_max_concurrent_streams(option, 1 << 20);
    nghttp2_session_client_new2(&session, callbacks, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~TestClient() { nghttp2_session_del(session); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  // Begins a call whose DATA is `data`, and returns its stream. `ends` ends the request.
  int32_t Begin(const Headers& headers, std::string data, bool ends = true) {
    std::vector<nghttp2_nv> fields;
    for (const auto& [name, value] : headers) {
      fields.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                        reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(),
                        value.size(), NGHTTP2_NV_FLAG_NONE});
    }
    auto body = std::make_unique<Body>(Body{std::move(data), 0, ends});
    nghttp2_data_provider provider{};
    provider.source.ptr = body.get();
    provider.read_callback = [](nghttp2_session*, int32_t, uint8_t* bytes, size_t most,
                                uint32_t* flags, nghttp2_data_source* source, void*) -> ssize_t {
      auto* const from = static_cast<Body*>(source->ptr);
      const size_t size = std::min(most, from->bytes.size() - from->sent);
      std::copy_n(from->bytes.data() + from->sent, size, bytes);
      from->sent += size;
      const bool all = from->sent == from->bytes.size();
      if (all && from->ends) *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (size == 0 && !from->ends) return NGHTTP2_ERR_DEFERRED;
      return static_cast<ssize_t>(size);
    };
    const int32_t stream =
        nghttp2_submit_request(session, nullptr, fields.data(), fields.size(), &provider, nullptr);
    bodies[stream] = std::move(body);
    return stream;
  }
  int32_t Call(absl::string_view path, absl::string_view message) {
    return Begin(CallHeaders(path), Message(message));
  }
  // Sends more DATA of a call that was begun without `ends`.
  void Continue(int32_t stream, absl::string_view data, bool ends) {
    bodies[stream]->bytes.append(data.data(), data.size());
    bodies[stream]->ends = ends;
    nghttp2_session_resume_data(session, stream);
  }
  void Reset(int32_t stream, uint32_t error = NGHTTP2_CANCEL) {
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream, error);
  }

  std::string Send() {
    std::string bytes;
    const uint8_t* data = nullptr;
    for (ssize_t size; (size = nghttp2_session_mem_send(session, &data)) > 0;) {
      bytes.append(data, data + size);
    }
    return bytes;
  }
  void Receive(absl::string_view bytes) {
    nghttp2_session_mem_recv(session, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }

  struct Body {
    std::string bytes;
    size_t sent = 0;
    bool ends = true;
  };

  nghttp2_session* session = nullptr;
  std::map<int32_t, std::unique_ptr<Body>> bodies;
  std::map<int32_t, Reply> replies;
  std::vector<uint8_t> frames;  // the types of all frames received
  int64_t goaway = -1;          // the error of the last GOAWAY
};

class SessionTest : public testing::Test {
 protected:
  SessionTest() { Connect(); }
  ~SessionTest() override {
    handler_.requests.clear();
    session_.reset();
    EXPECT_EQ(account_->unfinished(), 0u);
  }

  // Replaces the connection with a new connection of the same client.
  void Connect(const SessionOptions& options = {}) {
    session_ = Session::New(options, account_, &handler_);
    client_ = std::make_unique<TestClient>();
  }

  // Moves bytes both ways until none are left.
  void Pump() {
    for (;;) {
      const std::string to_server = client_->Send();
      if (!to_server.empty()) session_->Receive(to_server, now_);
      const std::string to_client = Sent();
      client_->Receive(to_client);
      if (to_server.empty() && to_client.empty()) return;
    }
  }
  // Returns all that the session has to send.
  std::string Sent() {
    std::string bytes;
    session_->Send(std::numeric_limits<size_t>::max(), &bytes);
    EXPECT_FALSE(session_->wants_to_send());
    return bytes;
  }
  void Receive(absl::string_view bytes) { session_->Receive(bytes, now_); }
  // Answers all requests that were handed over, with their own message.
  void Echo() {
    for (const Request& request : std::exchange(handler_.requests, {})) {
      session_->Answer(request.call, absl::OkStatus(), request.message);
    }
  }

  std::shared_ptr<Http2Account> account_ = std::make_shared<Http2Account>();
  TestHandler handler_;
  Http2Time now_{};
  std::unique_ptr<Session> session_;
  std::unique_ptr<TestClient> client_;
};

}  // namespace csi_proxy::transport

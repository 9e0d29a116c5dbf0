// Fuzzes a session: a client of nghttp2 makes calls, raw frames come in between, and the answers
// come in any order. So every state of a call meets resets, floods, answers under way, rooms that
// are granted late, GOAWAY, and a broken connection. The account must stay within its bounds, and
// must be empty at the end. All calls of a client that kept the rules must end.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/rpc/http2_frames_testing.h"
#include "server/transport/session_testing.h"

namespace csi_proxy::transport {
namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

// Draws choices from the input, and zeros after its end.
class Choices {
 public:
  explicit Choices(absl::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  uint8_t Byte() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }
  size_t Number(size_t most) { return (Byte() << 8 | Byte()) % (most + 1); }
  absl::string_view Bytes(size_t most) {
    const absl::string_view taken = bytes_.substr(0, Number(most));
    bytes_.remove_prefix(taken.size());
    return taken;
  }

 private:
  absl::string_view bytes_;
};

// Checks that each call is reported in an allowed order.
class CheckingHandler : public TestHandler {
 public:
  void OnRequest(Request request) override {
    Check(!ended_.contains(request.call));
    Check(request.message.size() <= SessionOptions().max_message_bytes);
    Check(request.room == nullptr || request.message.size() > kUnaskedBytes);
    begun_[request.call] = true;
    TestHandler::OnRequest(std::move(request));
  }
  void OnRequestsEnd(CallId call) override {
    Check(!ended_.contains(call));
    begun_[call] = true;
  }
  void OnCancel(CallId call) override {
    Check(begun_.contains(call));
    End(call);
  }
  // Records that the call has got its status.
  void End(CallId call) { Check(ended_.emplace(call, true).second); }
  // Records that the call was answered, or cancelled because the account has no room for the
  // answer.
  void EndAnswered(CallId call) { ended_.emplace(call, true); }
  size_t under_way() const { return begun_.size() - ended_.size(); }
  // Returns a call that has begun and not ended; 0 if there is none.
  CallId Any(size_t choice) const {
    std::vector<CallId> calls;
    for (const auto& [call, begun] : begun_) {
      if (!ended_.contains(call)) calls.push_back(call);
    }
    return calls.empty() ? 0 : calls[choice % calls.size()];
  }

 private:
  std::map<CallId, bool> begun_;
  std::map<CallId, bool> ended_;
};

// One connection of a client.
struct Connection {
  explicit Connection(const std::shared_ptr<Http2Account>& account)
      : session(Session::New({.max_calls = 16}, account, &handler)) {}

  CheckingHandler handler;
  std::unique_ptr<Session> session;
  TestClient client;
  std::vector<int32_t> streams;
  std::set<int32_t> many;
  // The client may not learn how its calls end: bytes were made up or lost, or an end was begun.
  bool broken = false;
};

class Run {
 public:
  explicit Run(absl::string_view input) : choices_(input) {}

  void Do() {
    connections_[0] = std::make_unique<Connection>(account_);
    connections_[1] = std::make_unique<Connection>(account_);
    while (!choices_.empty()) {
      Step(*connections_[choices_.Byte() & 1]);
      Check(account_->held_bytes() <= account_->limits().held_bytes);
      Check(account_->room_bytes() <= account_->limits().room_bytes);
      Check(account_->calls() <= account_->limits().calls);
      for (const auto& connection : connections_) {
        Check(connection->handler.under_way() <= connection->session->calls());
      }
      Check(account_->unfinished() <= account_->calls());
    }
    for (auto& connection : connections_) {
      if (connection->broken) connection.reset();
    }
    EndCalls();
    for (auto& connection : connections_) connection.reset();
    Check(account_->calls() == 0 && account_->unfinished() == 0);
    Check(account_->held_bytes() == 0 && account_->room_bytes() == 0);
  }

 private:
  // Ends all requests, answers them, and moves bytes until none are left.
  void EndCalls() {
    for (const auto& on : connections_) {
      if (on == nullptr) continue;
      const nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20};
      nghttp2_submit_settings(on->client.session, 0, &window, 1);
      for (const int32_t stream : on->streams) on->client.Continue(stream, "", true);
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto& on : connections_) {
        if (on == nullptr) continue;
        const std::string to_server = on->client.Send();
        on->session->Receive(to_server, now_);
        on->handler.requests.clear();
        on->session->OpenWindows();
        while (const CallId call = on->handler.Any(0)) {
          on->session->Answer(call, absl::OkStatus(), "the end");
          on->handler.EndAnswered(call);
        }
        std::string to_client;
        on->session->Send(std::numeric_limits<size_t>::max(), &to_client);
        on->client.Receive(to_client);
        moved = moved || !to_server.empty() || !to_client.empty();
      }
    }
    for (const auto& on : connections_) {
      if (on == nullptr || on->session->violation() != Http2Violation::kNone) continue;
      for (const int32_t stream : on->streams) Check(on->client.replies[stream].closed);
      Check(on->session->calls() == 0);
    }
  }

  void Step(Connection& on) {
    Session& session = *on.session;
    switch (choices_.Byte() % 20) {
      case 0:
      case 1: {
        constexpr const char* kPaths[] = {"/v1.Volume/Mount", "/unknown", "/many", ""};
        const size_t path = choices_.Byte() % 4;
        Headers headers = CallHeaders(kPaths[path]);
        if (choices_.Byte() % 4 == 0) headers.emplace_back("grpc-timeout", choices_.Bytes(10));
        if (choices_.Byte() % 8 == 0) headers.erase(headers.begin() + choices_.Byte() % 7);
        if (choices_.Byte() % 8 == 0) headers.emplace_back(choices_.Bytes(30), choices_.Bytes(100));
        if (choices_.Byte() % 32 == 0) headers.emplace_back("long", std::string(Length(), 'v'));
        std::string body = Message(std::string(Length(), 'x'));
        if (choices_.Byte() % 8 == 0) body[0] = static_cast<char>(choices_.Byte());
        if (choices_.Byte() % 4 == 0) body.resize(choices_.Number(body.size()));
        const int32_t stream = on.client.Begin(headers, std::move(body), choices_.Byte() % 3 > 0);
        if (stream > 0) on.streams.push_back(stream);
        if (path == 2) on.many.insert(stream);
        return;
      }
      case 2:
        if (const int32_t stream = AnyStream(on); stream != 0 && !on.client.bodies[stream]->ends) {
          // The session opens no window for the second request of a call that has one.
          if (!on.many.contains(stream)) on.broken = true;
          on.client.Continue(stream, Message(std::string(Length(), 'y')), choices_.Byte() % 2 == 0);
        }
        return;
      case 3:
        return on.client.Reset(AnyStream(on), choices_.Byte() % 16);
      case 4:
      case 5:
      case 6:
        return Receive(on, on.client.Send());
      case 7:
      case 8: {
        std::string bytes;
        session.Send(choices_.Number(1 << 16), &bytes);
        return on.client.Receive(bytes);
      }
      case 9:
        // Bytes that the client does not read.
        on.broken = true;
        return Unread(session);
      case 10: {
        // Any frame, often of a call.
        on.broken = true;
        const uint8_t type = choices_.Byte() % 12, flags = choices_.Byte();
        const auto stream =
            static_cast<uint32_t>(choices_.Byte() % 4 == 0 ? choices_.Byte() : AnyStream(on));
        return Receive(on, rpc::Frame(type, flags, stream, choices_.Bytes(300)));
      }
      case 11: {
        // A flood of one frame.
        on.broken = true;
        const uint8_t type = choices_.Byte() % 12, flags = choices_.Byte() & 0x9;
        const std::string frame =
            rpc::Frame(type, flags, static_cast<uint32_t>(AnyStream(on)), choices_.Bytes(16));
        std::string flood;
        for (size_t times = choices_.Number(600); times > 0; --times) flood += frame;
        return Receive(on, flood);
      }
      case 12:
        on.broken = true;
        return Receive(on, choices_.Bytes(300));
      case 13:
      case 14:
        if (const CallId call = on.handler.Any(choices_.Byte()); call != 0) {
          session.Write(call, std::string(Length(), 'z'));
        }
        return;
      case 15:
      case 16:
        if (const CallId call = on.handler.Any(choices_.Byte()); call != 0) {
          if (session.violation() == Http2Violation::kNone) on.handler.End(call);
          session.Finish(call, choices_.Byte() % 2 == 0 ? absl::OkStatus()
                                                        : absl::InternalError(choices_.Bytes(20)));
        }
        return;
      case 17:
        // Destroys the received requests, which frees their room.
        on.handler.requests.clear();
        return connections_[choices_.Byte() & 1]->session->OpenWindows();
      case 18:
        switch (choices_.Byte() % 6) {
          case 0:
            return session.GoAway();
          case 1:
            on.broken = true;
            return session.Cancel();
          case 2:
            on.broken = true;  // a client begins no call after its GOAWAY
            nghttp2_submit_goaway(on.client.session, 0, 0, 0, nullptr, 0);
            return;
          case 3: {
            const nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                                                   static_cast<uint32_t>(choices_.Number(70000))};
            nghttp2_submit_settings(on.client.session, 0, &window, 1);
            return;
          }
          case 4:
            now_ += std::chrono::milliseconds(choices_.Number(10000));
            return;
          default:
            // The connection breaks, and the client dials again.
            connections_[&on == connections_[1].get()] = std::make_unique<Connection>(account_);
            return;
        }
      default: {
        nghttp2_submit_ping(on.client.session, 0, nullptr);
        nghttp2_submit_window_update(on.client.session, 0, AnyStream(on),
                                     static_cast<int32_t>(choices_.Number(1 << 16)));
        return;
      }
    }
  }

  // Returns a length on either side of a limit.
  size_t Length() {
    switch (choices_.Byte() % 8) {
      case 0:
        return kUnaskedBytes - 8 + choices_.Byte() % 16;
      case 1:
        return (256 << 10) - 8 + choices_.Byte() % 16;
      case 2:
        return choices_.Number(1 << 16) * 4;
      default:
        return choices_.Byte();
    }
  }
  int32_t AnyStream(const Connection& on) {
    return on.streams.empty() ? 0 : on.streams[choices_.Byte() % on.streams.size()];
  }
  void Receive(Connection& on, absl::string_view bytes) {
    // Passes the bytes in two pieces, cut anywhere.
    const size_t cut = choices_.Number(bytes.size());
    on.session->Receive(bytes.substr(0, cut), now_);
    on.session->Receive(bytes.substr(cut), now_);
  }
  void Unread(Session& session) {
    std::string bytes;
    session.Send(std::numeric_limits<size_t>::max(), &bytes);
    Check(!session.wants_to_send());
  }

  Choices choices_;
  Http2Time now_{};
  // In half of the runs, the limits are so low that they are reached within a few steps.
  const std::shared_ptr<Http2Account> account_ = std::make_shared<Http2Account>(
      choices_.Byte() % 2 == 0 ? Http2Limits()
                               : Http2Limits{.unfinished = 12,
                                             .calls = 20,
                                             .resets = {.burst = 20, .per_second = 1},
                                             .held_bytes = 100 << 10,
                                             .room_bytes = 300 << 10,
                                             .queued_frames = 64});
  std::unique_ptr<Connection> connections_[2];
};

}  // namespace
}  // namespace csi_proxy::transport

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  csi_proxy::transport::Run(absl::string_view(reinterpret_cast<const char*>(data), size)).Do();
  return 0;
}

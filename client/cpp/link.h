// One connection to the service, one call over it, and the dialer that makes connections. Each
// platform implements the dialer.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "client/cpp/remote_channel.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/steady_time.h"

namespace csi_proxy::client {

// Returns a deadline in gRPC's form: a time of the wall clock. gRPC immediately converts it to a
// steady clock.
std::chrono::system_clock::time_point ForGrpc(SteadyTime deadline);

// A call under way. It may outlive its caller's wait: gRPC 1.51 cannot end a call, by deadline or
// cancellation, while a write that may belong to it is stuck because the other end does not read
// (run_after_write in chttp2_transport.cc).
class PendingCall {
 public:
  // Sends the request. Uses `response` only as the type of the answer.
  PendingCall(std::shared_ptr<grpc::Channel> channel, const char* method,
              const CallContext& context, const google::protobuf::Message& request,
              const google::protobuf::Message& response);

  // Waits until the call has ended. Returns false if the call is still under way at `deadline`.
  bool Wait(SteadyTime deadline);
  void Cancel() { context_.TryCancel(); }

  // Returns the status of the call. REQUIRES: Wait() has returned true.
  const grpc::Status& status() const { return status_; }
  // Returns true if the service sent the error status(), false if gRPC made it, e.g. for a lost
  // connection. Its debug text tells. REQUIRES: Wait() has returned true, and status() is not OK.
  bool IsAnswer() const {
    return absl::StrContains(context_.debug_error_string(), "received from peer");
  }
  // Returns the answer. REQUIRES: Wait() has returned true, and status() is OK.
  google::protobuf::Message& answer() { return *answer_; }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  const std::unique_ptr<google::protobuf::Message> answer_;
  grpc::Status status_;
};

// A connection. Owned by the calls that use it and by the dialer, because new calls also use it.
class Link {
 public:
  // `close` ends the connection and its calls. Null if the platform cannot do so.
  Link(std::shared_ptr<grpc::Channel> channel, std::function<void()> close)
      : channel_(std::move(channel)), close_(std::move(close)) {}
  ~Link() {
    if (close_) close_();
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Takes over a call that its caller has given up and that gRPC does not end. From then on stuck()
  // is true, and new calls must use another link.
  void Abandon(std::unique_ptr<PendingCall> call);
  bool stuck() const { return stuck_; }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::function<void()> close_;
  std::atomic<bool> stuck_ = false;
};

// Makes the connections to one pipe. Thread-safe.
class RemoteChannel::Dialer {
 public:
  explicit Dialer(std::string path);
  ~Dialer();

  // Returns a connection on which the running service has answered. Makes a new connection if the
  // service has restarted or does not read. UNAVAILABLE with the reason if there is no connection
  // by `deadline`, or immediately if none can be made. PERMISSION_DENIED, without sending any
  // bytes, if the pipe does not belong to the service.
  absl::StatusOr<std::shared_ptr<Link>> Get(SteadyTime deadline);

 private:
  struct State;
  const std::string path_;
  const std::shared_ptr<State> state_;
};

}  // namespace csi_proxy::client

// One connection to the service, and one call over it.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace csi_proxy::client {

// A call under way. gRPC may hold on to it for longer than its caller waits: while a write is
// stuck, because the other end does not read, gRPC 1.51 ends none of the calls that the write may
// belong to (run_after_write in chttp2_transport.cc), neither at their deadline nor when they are
// cancelled.
class PendingCall {
 public:
  // Sends the request. The answer will be of the type of `response`.
  PendingCall(std::shared_ptr<grpc::Channel> channel, const char* method, absl::Time deadline,
              const google::protobuf::Message& request, const google::protobuf::Message& response);

  // Waits until the call has ended. False when it has not by `deadline`.
  bool Wait(absl::Time deadline);
  void Cancel() { context_.TryCancel(); }

  // The status of a call that has ended. The answer is there when it is OK.
  const grpc::Status& status() const { return status_; }
  google::protobuf::Message& answer() { return *answer_; }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  const std::unique_ptr<google::protobuf::Message> answer_;
  grpc::Status status_;
};

// Shared by the calls that use the connection and by the owner that gives it to new ones.
class Link {
 public:
  // `close` ends the connection and the calls on it; null where that cannot be done.
  Link(std::shared_ptr<grpc::Channel> channel, std::function<void()> close)
      : channel_(std::move(channel)), close_(std::move(close)) {}
  ~Link() {
    if (close_) close_();
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Takes a call that its caller has given up and that gRPC does not end. No new call should use
  // this link.
  void Abandon(std::unique_ptr<PendingCall> call);
  bool stuck() const { return stuck_; }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::function<void()> close_;
  std::atomic<bool> stuck_ = false;
};

}  // namespace csi_proxy::client

#include "client/cpp/remote_channel.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/backends.h"
#include "client/cpp/link.h"
#include "client/cpp/pipe_path.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/base/status_macros.h"

namespace csi_proxy::client {
namespace {

// The pause between attempts to connect to a pipe that is missing or has no server doubles from
// kFirstPause to kLongestPause. Between attempts, the call checks for a cancellation.
constexpr absl::Duration kFirstPause = absl::Milliseconds(10),
                         kLongestPause = absl::Milliseconds(50);

constexpr char kNotReached[] = "csi-proxy/not-reached";

using google::protobuf::Message;

// How often a waiting call checks whether its caller has cancelled it.
constexpr absl::Duration kCancellationPoll = absl::Milliseconds(10);

// How long gRPC may take to end a call after its deadline or its cancellation.
constexpr absl::Duration kGrace = absl::Milliseconds(200);

// Waits for the end of a call, and cancels the call when its caller does. Returns false if gRPC has
// not ended the call within kGrace of its deadline or cancellation.
bool WaitForEnd(PendingCall& call, const CallContext& context) {
  SteadyTime give_up = context.deadline() + kGrace;
  bool cancelled = false;
  while (true) {
    const bool watching = context.cancellable() && !cancelled;
    if (call.Wait(watching ? std::min(give_up, SteadyTime::Now() + kCancellationPoll) : give_up)) {
      return true;
    }
    if (SteadyTime::Now() >= give_up) return false;
    if (watching && context.cancelled()) {
      call.Cancel();
      cancelled = true;
      give_up = std::min(give_up, SteadyTime::Now() + kGrace);
    }
  }
}

class RemoteNode final : public Connection {
 public:
  explicit RemoteNode(const ClientOptions& options) : options_(options) {}

  Mode mode() const override { return Mode::kRemote; }

  absl::Status Check(absl::string_view group, absl::string_view version) const override {
    return CheckPipe(PipePath(options_, group, version));
  }

  // All clients of a version share one channel.
  Opened Open(absl::string_view group, absl::string_view version) override {
    std::string path = PipePath(options_, group, version);
    const MutexLock lock(mutex_);
    std::shared_ptr<RemoteChannel>& channel = channels_[path];
    if (channel == nullptr) {
      channel = std::make_shared<RemoteChannel>(std::move(path), options_.connect_timeout);
    }
    return {.channel = channel};
  }

 private:
  const ClientOptions options_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<RemoteChannel>> channels_ ABSL_GUARDED_BY(mutex_);
};

constexpr RemoteBackend kBackend = {
    .connect = [](const ClientOptions& options) -> std::shared_ptr<Connection> {
      return std::make_shared<RemoteNode>(options);
    }};

[[maybe_unused]] const RemoteBackend* const kBefore = RegisterBackend(&kBackend);

}  // namespace

absl::Status NotReached(absl::string_view message) {
  absl::Status error = absl::UnavailableError(message);
  error.SetPayload(kNotReached, absl::Cord());
  return error;
}

bool WasNotReached(const absl::Status& error) { return error.GetPayload(kNotReached).has_value(); }

absl::Status CheckPipe(const std::string& path) {
  if (PipeExists(path)) return absl::OkStatus();
  return NotReached(absl::StrCat("there is no pipe ", path,
                                 ": start csi-proxy, and check that it serves this version"));
}

absl::StatusOr<std::shared_ptr<RemoteChannel>> RemoteChannel::Open(const ClientOptions& options,
                                                                   absl::string_view group,
                                                                   absl::string_view version) {
  return OpenPath(options, PipePath(options, group, version));
}

absl::StatusOr<std::shared_ptr<RemoteChannel>> RemoteChannel::OpenPath(const ClientOptions& options,
                                                                       std::string path) {
  ABSL_RETURN_IF_ERROR(CheckPipe(path));
  return std::make_shared<RemoteChannel>(std::move(path), options.connect_timeout);
}

RemoteChannel::RemoteChannel(std::string path, absl::Duration connect_timeout)
    : path_(std::move(path)),
      connect_timeout_(connect_timeout),
      dialer_(std::make_unique<Dialer>(path_)) {}

RemoteChannel::~RemoteChannel() = default;

absl::StatusOr<std::shared_ptr<Link>> RemoteChannel::Connect(const CallContext& context) {
  const SteadyTime give_up = std::min(context.deadline(), SteadyTime::Now() + connect_timeout_);
  absl::Duration pause = kFirstPause;
  while (true) {
    ABSL_RETURN_IF_ERROR(context.Check());
    const SteadyTime begin = SteadyTime::Now();
    absl::StatusOr<std::shared_ptr<Link>> link =
        dialer_->Get(std::min(give_up, begin + kLongestPause));
    if (link.ok() || absl::IsPermissionDenied(link.status())) return link;
    if (SteadyTime::Now() >= give_up) {
      ABSL_RETURN_IF_ERROR(context.Check());
      ABSL_RETURN_IF_ERROR(CheckPipe(path_));
      return NotReached(
          absl::StrCat("nothing answers on the pipe ", path_, ": ", link.status().message()));
    }
    absl::SleepFor(std::min(begin + pause, give_up) - SteadyTime::Now());
    pause = std::min(pause * 2, kLongestPause);
  }
}

absl::Status RemoteChannel::Call(const char* method, const CallContext& context,
                                 const Message& request, Message* response) {
  // gRPC would abort the process on a larger request.
  if (request.ByteSizeLong() > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError("the request is too large");
  }
  ABSL_ASSIGN_OR_RETURN(const std::shared_ptr<Link> link, Connect(context));
  auto call = std::make_unique<PendingCall>(link->channel(), method, context, request, *response);
  if (!WaitForEnd(*call, context)) {
    link->Abandon(std::move(call));
    absl::Status over = context.Check();
    return over.ok() ? absl::DeadlineExceededError("the call has not ended in time") : over;
  }
  const grpc::Status& status = call->status();
  // The server may notice a deadline or a cancellation before this process. The caller always gets
  // the text of CallContext::Check(), as in embedded mode.
  if (status.error_code() == grpc::DEADLINE_EXCEEDED || status.error_code() == grpc::CANCELLED) {
    ABSL_RETURN_IF_ERROR(context.Check());
  }
  if (status.error_code() == grpc::UNAVAILABLE && !call->IsAnswer()) {
    return NotReached(status.error_message());
  }
  if (status.ok()) response->GetReflection()->Swap(response, &call->answer());
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace csi_proxy::client

// Linker flags require this symbol, so that the linker keeps this file.
extern "C" void csi_proxy_remote_backend() {}

#include "client/cpp/remote_channel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/dialer.h"
#include "client/cpp/pipe_path.h"
#include "server/base/status_macros.h"

namespace csi_proxy::client {
namespace {

// The pause before the next attempt to connect to a pipe that is missing or not served:
// kFirstPause, doubled up to kLongestPause. In between, the call checks for a cancellation.
constexpr absl::Duration kFirstPause = absl::Milliseconds(10),
                         kLongestPause = absl::Milliseconds(50);

constexpr char kNotReached[] = "csi-proxy/not-reached";

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
                                 ": is csi-proxy running, and does it serve this version?"));
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
  const absl::Time give_up = std::min(context.deadline(), absl::Now() + connect_timeout_);
  absl::Duration pause = kFirstPause;
  while (true) {
    ABSL_RETURN_IF_ERROR(context.Check());
    const absl::Time begin = absl::Now();
    absl::StatusOr<std::shared_ptr<Link>> link =
        dialer_->Get(std::min(give_up, begin + kLongestPause));
    if (link.ok() || absl::IsPermissionDenied(link.status())) return link;
    if (absl::Now() >= give_up) {
      ABSL_RETURN_IF_ERROR(context.Check());
      ABSL_RETURN_IF_ERROR(CheckPipe(path_));
      return NotReached(
          absl::StrCat("nobody answers on the pipe ", path_, ": ", link.status().message()));
    }
    absl::SleepFor(std::min(begin + pause, give_up) - absl::Now());
    pause = std::min(pause * 2, kLongestPause);
  }
}

}  // namespace csi_proxy::client

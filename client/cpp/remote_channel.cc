#include "client/cpp/remote_channel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/pipe_path.h"
#include "client/cpp/remote_connection.h"

namespace csi_proxy::client {
namespace {

// How long a pipe that is not there or takes nobody is left alone before it is tried again, at
// first and at most; also how soon a call looks for its caller meanwhile.
constexpr absl::Duration kFirstPause = absl::Milliseconds(10),
                         kLongestPause = absl::Milliseconds(50);

absl::Status NoPipe(const std::string& path) {
  return absl::UnavailableError(absl::StrCat("there is no pipe ", path,
                                             ": is csi-proxy running, and does it serve this "
                                             "version?"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<RemoteChannel>> RemoteChannel::Open(const ClientOptions& options,
                                                                   absl::string_view group,
                                                                   absl::string_view version) {
  return OpenPath(options, PipePath(options, group, version));
}

absl::StatusOr<std::shared_ptr<RemoteChannel>> RemoteChannel::OpenPath(const ClientOptions& options,
                                                                       std::string path) {
  if (!PipeIsThere(path)) return NoPipe(path);
  return std::shared_ptr<RemoteChannel>(
      new RemoteChannel(std::move(path), options.connect_timeout));
}

RemoteChannel::RemoteChannel(std::string path, absl::Duration connect_timeout)
    : path_(std::move(path)),
      connect_timeout_(connect_timeout),
      connection_(std::make_unique<Connection>(path_)) {}

RemoteChannel::~RemoteChannel() = default;

absl::StatusOr<std::shared_ptr<Link>> RemoteChannel::Connect(const CallContext& context) {
  const absl::Time give_up = std::min(context.deadline(), absl::Now() + connect_timeout_);
  absl::Duration pause = kFirstPause;
  while (true) {
    if (absl::Status status = context.Check(); !status.ok()) return status;
    const absl::Time begin = absl::Now();
    absl::StatusOr<std::shared_ptr<Link>> link =
        connection_->Get(std::min(give_up, begin + kLongestPause));
    if (link.ok() || absl::IsPermissionDenied(link.status())) return link;
    if (absl::Now() >= give_up) {
      if (absl::Status status = context.Check(); !status.ok()) return status;
      if (!PipeIsThere(path_)) return NoPipe(path_);
      return absl::UnavailableError(
          absl::StrCat("nobody answers on the pipe ", path_, ": ", link.status().message()));
    }
    absl::SleepFor(std::min(begin + pause, give_up) - absl::Now());
    pause = std::min(pause * 2, kLongestPause);
  }
}

}  // namespace csi_proxy::client

#include "client/remote_channel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/pipe_path.h"
#include "client/remote_connection.h"

namespace csi_proxy::client {
namespace {

// How often a pipe that does not answer is tried again.
constexpr absl::Duration kTryAgain = absl::Milliseconds(50);

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

absl::StatusOr<std::shared_ptr<grpc::Channel>> RemoteChannel::Connected(
    const CallContext& context) {
  const absl::Time give_up = std::min(context.deadline(), absl::Now() + connect_timeout_);
  while (true) {
    if (absl::Status status = context.Check(); !status.ok()) return status;
    // In slices, because the pipe may get another life meanwhile.
    const absl::Time slice = std::min(give_up, absl::Now() + kTryAgain);
    if (auto channel = connection_->Channel(slice)) return channel;
    if (absl::Now() >= give_up) break;
    absl::SleepFor(slice - absl::Now());
  }
  if (absl::Status status = context.Check(); !status.ok()) return status;
  if (!PipeIsThere(path_)) return NoPipe(path_);
  return absl::UnavailableError(absl::StrCat("nobody answers on the pipe ", path_));
}

}  // namespace csi_proxy::client

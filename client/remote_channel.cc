#include "client/remote_channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace csi_proxy::client {
namespace {

constexpr char kDefaultSocketDir[] = "/run/csi-proxy";

// How often a pipe that is not there is looked for again.
constexpr absl::Duration kLookAgain = absl::Milliseconds(50);

absl::Status NoPipe(const std::string& path) {
  return absl::UnavailableError(absl::StrCat("there is no pipe ", path,
                                             ": is csi-proxy running, and does it serve this "
                                             "version?"));
}

absl::StatusOr<Mode> ModeOf(const ClientOptions& options) {
  const char* const pinned = std::getenv("CSI_PROXY_MODE");
  if (options.mode != Mode::kAuto || pinned == nullptr || *pinned == '\0') return options.mode;
  const absl::string_view mode = pinned;
  if (mode == "auto") return Mode::kAuto;
  if (mode == "remote") return Mode::kRemote;
  if (mode == "embedded") return Mode::kEmbedded;
  return absl::InvalidArgumentError(
      absl::StrCat("CSI_PROXY_MODE: \"", mode, "\" is none of auto, remote, embedded"));
}

}  // namespace

std::string SocketDirectory(const ClientOptions& options) {
  if (!options.socket_dir.empty()) return options.socket_dir;
  const char* const directory = std::getenv("CSI_PROXY_SOCKET_DIR");
  return directory != nullptr && *directory != '\0' ? directory : kDefaultSocketDir;
}

absl::StatusOr<std::shared_ptr<RemoteChannel>> RemoteChannel::Open(const ClientOptions& options,
                                                                   absl::string_view group,
                                                                   absl::string_view version) {
  const absl::StatusOr<Mode> mode = ModeOf(options);
  if (!mode.ok()) return mode.status();
  if (*mode == Mode::kEmbedded) {
    return absl::UnimplementedError("mode: this release has no embedded mode");
  }
  return OpenPath(
      options, absl::StrCat(SocketDirectory(options), "/csi-proxy-", group, "-", version, ".sock"));
}

absl::StatusOr<std::shared_ptr<RemoteChannel>> RemoteChannel::OpenPath(const ClientOptions& options,
                                                                       std::string path) {
  if (!LookAtPipe(path).ok()) return NoPipe(path);
  return std::shared_ptr<RemoteChannel>(
      new RemoteChannel(std::move(path), options.connect_timeout));
}

std::shared_ptr<grpc::Channel> RemoteChannel::ChannelFor(const PipeIdentity& identity) {
  std::lock_guard lock(mutex_);
  if (channel_ != nullptr && identity_ == identity) return channel_;
  grpc::ChannelArguments arguments;
  // Subchannels of a channel to the service's earlier life must not be shared.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  channel_ = grpc::CreateCustomChannel(absl::StrCat("unix:", path_),
                                       grpc::InsecureChannelCredentials(), arguments);
  identity_ = identity;
  return channel_;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> RemoteChannel::Connected(
    const CallContext& context) {
  const absl::Time give_up = std::min(context.deadline(), absl::Now() + connect_timeout_);
  while (true) {
    if (absl::Status status = context.Check(); !status.ok()) return status;
    const absl::StatusOr<PipeIdentity> identity = LookAtPipe(path_);
    if (identity.ok()) {
      std::shared_ptr<grpc::Channel> channel = ChannelFor(*identity);
      if (channel->GetState(true) == GRPC_CHANNEL_READY) return channel;
      // In slices, because the pipe may get another life meanwhile.
      const absl::Time slice = std::min(give_up, absl::Now() + kLookAgain);
      if (channel->WaitForConnected(absl::ToChronoTime(slice))) return channel;
    }
    if (absl::Now() >= give_up) break;
    if (!identity.ok()) absl::SleepFor(std::min(kLookAgain, give_up - absl::Now()));
  }
  if (absl::Status status = context.Check(); !status.ok()) return status;
  if (!LookAtPipe(path_).ok()) return NoPipe(path_);
  return absl::UnavailableError(absl::StrCat("nobody answers on the pipe ", path_));
}

}  // namespace csi_proxy::client

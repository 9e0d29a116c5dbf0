#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <sys/stat.h>

#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/remote_connection.h"

namespace csi_proxy::client {
namespace {

// Tells one life of a socket from the next.
struct PipeIdentity {
  uint64_t device = 0, inode = 0;
  int64_t changed_seconds = 0, changed_nanoseconds = 0;
  friend bool operator==(const PipeIdentity&, const PipeIdentity&) = default;
};

std::optional<PipeIdentity> LookAt(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return std::nullopt;
  return PipeIdentity{.device = info.st_dev,
                      .inode = info.st_ino,
                      .changed_seconds = info.st_ctim.tv_sec,
                      .changed_nanoseconds = info.st_ctim.tv_nsec};
}

std::shared_ptr<grpc::Channel> NewChannel(const std::string& path) {
  grpc::ChannelArguments arguments;
  // Subchannels of a channel to the service's earlier life must not be shared.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(absl::StrCat("unix:", path), grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace

struct RemoteChannel::Connection::State {
  std::mutex mutex;
  PipeIdentity identity;
  std::shared_ptr<grpc::Channel> channel;
};

RemoteChannel::Connection::Connection(std::string path)
    : path_(std::move(path)), state_(std::make_unique<State>()) {}
RemoteChannel::Connection::~Connection() = default;

std::shared_ptr<grpc::Channel> RemoteChannel::Connection::Channel(absl::Time deadline) {
  const std::optional<PipeIdentity> identity = LookAt(path_);
  if (!identity.has_value()) return nullptr;
  std::shared_ptr<grpc::Channel> channel;
  {
    std::lock_guard lock(state_->mutex);
    if (state_->channel == nullptr || !(state_->identity == *identity)) {
      state_->channel = NewChannel(path_);
      state_->identity = *identity;
    }
    channel = state_->channel;
  }
  if (channel->GetState(true) == GRPC_CHANNEL_READY) return channel;
  return channel->WaitForConnected(absl::ToChronoTime(deadline)) ? channel : nullptr;
}

}  // namespace csi_proxy::client

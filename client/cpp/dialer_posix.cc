#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/link.h"
#include "client/cpp/pipe_owner.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/base/status_macros.h"

namespace csi_proxy::client {
namespace {

// Identifies a socket file. A new socket of the service has another identity.
struct PipeIdentity {
  uint64_t device = 0, inode = 0;
  int64_t changed_seconds = 0, changed_nanoseconds = 0;
  friend bool operator==(const PipeIdentity&, const PipeIdentity&) = default;
};

absl::StatusOr<PipeIdentity> LookAt(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    return absl::UnavailableError(
        errno == EACCES ? "access denied: only root and the user of the service may open its folder"
                        : "it does not exist");
  }
  if (!S_ISSOCK(info.st_mode)) return absl::UnavailableError("it does not exist");
  // A socket's file belongs to the user of the process that bound it.
  const absl::Status ours = CheckPipeOwner(path, {.owner = absl::StrCat("user ", info.st_uid),
                                                  .owner_is_system = info.st_uid == 0,
                                                  .self = absl::StrCat("user ", geteuid())});
  if (!ours.ok()) return ours;
  if (faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0 && errno == EACCES) {
    return absl::UnavailableError(absl::StrCat("access denied: only root and user ", info.st_uid,
                                               ", who runs the service, may open it"));
  }
  return PipeIdentity{.device = info.st_dev,
                      .inode = info.st_ino,
                      .changed_seconds = info.st_ctim.tv_sec,
                      .changed_nanoseconds = info.st_ctim.tv_nsec};
}

std::shared_ptr<grpc::Channel> NewChannel(const std::string& path) {
  grpc::ChannelArguments arguments;
  // Does not share subchannels, because a shared one may still be connected to the service before
  // its restart.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(absl::StrCat("unix:", path), grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace

struct RemoteChannel::Dialer::State {
  Mutex mutex;
  PipeIdentity identity ABSL_GUARDED_BY(mutex);
  std::shared_ptr<Link> link ABSL_GUARDED_BY(mutex);
};

RemoteChannel::Dialer::Dialer(std::string path)
    : path_(std::move(path)), state_(std::make_shared<State>()) {}
RemoteChannel::Dialer::~Dialer() = default;

absl::StatusOr<std::shared_ptr<Link>> RemoteChannel::Dialer::Get(SteadyTime deadline) {
  ABSL_ASSIGN_OR_RETURN(const PipeIdentity identity, LookAt(path_));
  std::shared_ptr<Link> link;
  {
    const MutexLock lock(state_->mutex);
    if (state_->link == nullptr || state_->link->stuck() || !(state_->identity == identity)) {
      state_->link = std::make_shared<Link>(NewChannel(path_), nullptr);
      state_->identity = identity;
    }
    link = state_->link;
  }
  // gRPC reports READY after the service has sent its settings.
  if (link->channel()->GetState(true) == GRPC_CHANNEL_READY ||
      link->channel()->WaitForConnected(ForGrpc(deadline))) {
    return link;
  }
  return absl::UnavailableError("it does not answer");
}

}  // namespace csi_proxy::client

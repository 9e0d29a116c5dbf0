#include <atomic>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/remote_connection.h"
#include "server/pipe/endpoint.h"
#include "server/pipe/pipe.h"

namespace csi_proxy::client {

struct RemoteChannel::Connection::State {
  std::mutex mutex;
  std::shared_ptr<grpc::Channel> channel;
  // Of the channel's one connection; set when the service closes it or dies.
  std::shared_ptr<std::atomic<bool>> closed;
};

RemoteChannel::Connection::Connection(std::string path)
    : path_(std::move(path)), state_(std::make_unique<State>()) {}
RemoteChannel::Connection::~Connection() = default;

std::shared_ptr<grpc::Channel> RemoteChannel::Connection::Channel(absl::Time deadline) {
  // One caller opens the pipe, the others wait and share what it got.
  std::lock_guard lock(state_->mutex);
  if (state_->channel != nullptr && !*state_->closed) return state_->channel;
  state_->channel = nullptr;
  absl::StatusOr<win32::UniqueHandle> handle = pipe::Open(path_, deadline);
  if (!handle.ok()) return nullptr;
  absl::StatusOr<std::unique_ptr<pipe::Stream>> stream = pipe::Stream::Create(*std::move(handle));
  if (!stream.ok()) return nullptr;
  auto closed = std::make_shared<std::atomic<bool>>(false);
  state_->channel = pipe::NewChannel(*std::move(stream), [closed] { closed->store(true); });
  state_->closed = std::move(closed);
  return state_->channel;
}

}  // namespace csi_proxy::client

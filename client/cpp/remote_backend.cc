// Adds remote mode to programs that link this file.
#include <map>
#include <mutex>
#include <string>

#include "client/cpp/backends.h"
#include "client/cpp/pipe_path.h"
#include "client/cpp/remote_channel.h"

namespace csi_proxy::client {
namespace {

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
    std::lock_guard lock(mutex_);
    std::shared_ptr<RemoteChannel>& channel = channels_[path];
    if (channel == nullptr) {
      channel = std::make_shared<RemoteChannel>(std::move(path), options_.connect_timeout);
    }
    return {.channel = channel};
  }

 private:
  const ClientOptions options_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<RemoteChannel>> channels_;
};

constexpr RemoteBackend kBackend = {
    .connect = [](const ClientOptions& options) -> std::shared_ptr<Connection> {
      return std::make_shared<RemoteNode>(options);
    }};

[[maybe_unused]] const RemoteBackend* const kBefore = RegisterBackend(&kBackend);

}  // namespace
}  // namespace csi_proxy::client

// Linkers are told to require this symbol, so that they keep this file.
extern "C" void csi_proxy_remote_backend() {}

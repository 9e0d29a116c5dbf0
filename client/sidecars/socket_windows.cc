#include "client/sidecars/socket_windows.h"

#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/grpc/endpoint.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/base/status_macros.h"

namespace csi_proxy::sidecars {
namespace {

// The pause between attempts to connect.
constexpr absl::Duration kPause = absl::Milliseconds(20);

absl::Status Unavailable(const std::string& what, const absl::Status& why) {
  return absl::UnavailableError(absl::StrCat(what, ": ", why.message()));
}

// The open connections of a server. Thread-safe.
class Live {
 public:
  uint64_t Add(const std::shared_ptr<pipe::Stream>& stream) {
    const MutexLock lock(mutex_);
    streams_.emplace(++last_, stream);
    return last_;
  }
  void Remove(uint64_t number) {
    const MutexLock lock(mutex_);
    streams_.erase(number);
  }
  void HangUp() {
    std::vector<std::shared_ptr<pipe::Stream>> all;
    {
      const MutexLock lock(mutex_);
      for (const auto& [number, weak] : streams_) {
        if (auto stream = weak.lock()) all.push_back(std::move(stream));
      }
    }
    for (const auto& stream : all) stream->HangUp();
  }

 private:
  Mutex mutex_;
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_map<uint64_t, std::weak_ptr<pipe::Stream>> streams_ ABSL_GUARDED_BY(mutex_);
};

class WindowsServer final : public SocketServer {
 public:
  WindowsServer(std::unique_ptr<grpc::Server> server, std::optional<OwnFile> file)
      : server_(std::move(server)), file_(std::move(file)) {}

  ~WindowsServer() override {
    if (file_.has_value()) file_->Remove().IgnoreError();
    listener_.reset();
    // Tries once more, because Windows may refuse to remove the file while the socket is listening.
    if (file_.has_value()) file_->Remove().IgnoreError();
    // Hangs up before Shutdown(), because gRPC cannot end a connection with a stuck write.
    live_->HangUp();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  absl::Status Start(pipe::Socket bound, int family) {
    ABSL_ASSIGN_OR_RETURN(
        auto listener,
        pipe::SocketListener::Start(
            std::move(bound), family, [this](std::unique_ptr<pipe::Stream> accepted) {
              const std::shared_ptr<pipe::Stream> stream = std::move(accepted);
              const uint64_t number = live_->Add(stream);
              pipe::Serve(server_.get(),
                          {.stream = stream,
                           .received = "",
                           .name = absl::StrCat("socket:", number),
                           .admits = nullptr,
                           .closed = [live = live_, number] { live->Remove(number); }});
            }));
    listener_ = std::move(listener);
    return absl::OkStatus();
  }

  absl::StatusOr<bool> in_place() const override {
    if (!file_.has_value()) return true;
    return file_->in_place();
  }

 private:
  const std::unique_ptr<grpc::Server> server_;
  const std::optional<OwnFile> file_;
  // Shared with the connections, because they may report their end after the server's destruction.
  const std::shared_ptr<Live> live_ = std::make_shared<Live>();
  std::unique_ptr<pipe::SocketListener> listener_;
};

class WindowsChannel final : public SocketChannel {
 public:
  explicit WindowsChannel(pipe::Channel channel) : channel_(std::move(channel)) {}
  ~WindowsChannel() override { channel_.close(); }
  const std::shared_ptr<grpc::Channel>& channel() const override { return channel_.channel; }

 private:
  const pipe::Channel channel_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SocketServer>> ListenOn(pipe::Socket bound, int family,
                                                       std::optional<OwnFile> file,
                                                       const std::string& what,
                                                       grpc::Service* service) {
  grpc::ServerBuilder builder;
  builder.RegisterService(service);
  // Uses one polling thread, which wakes up once a minute.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  builder.SetSyncServerOption(grpc::ServerBuilder::CQ_TIMEOUT_MSEC, 60'000);
  // Both ends are on one machine, so measuring the bandwidth would only cost pings.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  std::unique_ptr<grpc::Server> built = builder.BuildAndStart();
  if (built == nullptr) {
    if (file.has_value()) file->Remove().IgnoreError();
    return absl::UnavailableError(absl::StrCat(what, ": gRPC does not start a server"));
  }
  auto server = std::make_unique<WindowsServer>(std::move(built), std::move(file));
  absl::Status started = server->Start(std::move(bound), family);
  if (!started.ok()) return Unavailable(what, started);
  return server;
}

absl::StatusOr<std::unique_ptr<SocketChannel>> ConnectTo(const pipe::SocketAddress& address,
                                                         const std::string& what,
                                                         SteadyTime deadline) {
  absl::StatusOr<pipe::Socket> socket = pipe::Connect(address, deadline);
  while (!socket.ok()) {
    const absl::Duration left = deadline - SteadyTime::Now();
    if (left <= absl::ZeroDuration()) return Unavailable(what, socket.status());
    absl::SleepFor(std::min(kPause, left));
    socket = pipe::Connect(address, deadline);
  }
  auto stream = pipe::SocketStream::Create(*std::move(socket));
  if (!stream.ok()) return Unavailable(what, stream.status());
  pipe::Channel made = pipe::NewChannel(*std::move(stream), {},
                                        [received = size_t{0}](absl::string_view bytes) mutable {
                                          received += bytes.size();
                                          return received <= SocketChannel::kMostReceived;
                                        });
  if (made.channel == nullptr) {
    return absl::UnavailableError(absl::StrCat(what, ": gRPC does not take the connection"));
  }
  return std::make_unique<WindowsChannel>(std::move(made));
}

absl::StatusOr<std::unique_ptr<SocketServer>> SocketServer::Listen(std::string path,
                                                                   grpc::Service* service) {
  const absl::StatusOr<pipe::SocketAddress> address = pipe::UnixAddress(path);
  if (!address.ok()) return Unavailable(path, address.status());
  absl::StatusOr<pipe::Socket> bound = pipe::Bind(*address);
  if (!bound.ok()) return Unavailable(path, bound.status());
  absl::StatusOr<OwnFile> file = ProtectSocket(path);
  if (!file.ok()) {
    RemoveSocket(path).IgnoreError();
    return Unavailable(path, file.status());
  }
  return ListenOn(*std::move(bound), address->family(), *std::move(file), path, service);
}

absl::StatusOr<std::unique_ptr<SocketChannel>> SocketChannel::Connect(const std::string& path,
                                                                      SteadyTime deadline) {
  const absl::StatusOr<pipe::SocketAddress> address = pipe::UnixAddress(path);
  if (!address.ok()) return Unavailable(path, address.status());
  return ConnectTo(*address, path, deadline);
}

}  // namespace csi_proxy::sidecars

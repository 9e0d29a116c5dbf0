#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <grpcpp/support/channel_arguments.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/sidecars/socket.h"
#include "csi_proxy/steady_time.h"
#include "server/base/start_thread.h"
#include "server/base/status_macros.h"
#include "server/platform/own_file.h"
#include "server/platform/unique_fd.h"

namespace csi_proxy::sidecars {
namespace {

// The pause between attempts to connect.
constexpr absl::Duration kPause = absl::Milliseconds(20);
// The pause while the system lacks descriptors or memory.
constexpr absl::Duration kPauseInShortage = absl::Milliseconds(100);
constexpr int kBacklog = 64;
// How long gRPC's server is kept after its last connection. The kubelet connects twice in a row.
constexpr int kLingerMs = 1000;

absl::Status Failure(const std::string& path, const char* what) {
  return absl::UnavailableError(absl::StrCat(path, ": ", what, ": ", std::strerror(errno)));
}

absl::StatusOr<sockaddr_un> Address(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::UnavailableError(absl::StrCat(path, ": a socket's path has from 1 to ",
                                               sizeof(address.sun_path) - 1, " bytes"));
  }
  path.copy(address.sun_path, path.size());
  return address;
}

absl::StatusOr<UniqueFd> NewSocket(const std::string& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return Failure(path, "socket");
  return socket;
}

// Returns a server with one polling thread, because the threads of gRPC's callback API wake up too
// often.
std::unique_ptr<grpc::Server> NewServer(grpc::Service* service) {
  grpc::ServerBuilder builder;
  builder.RegisterService(service);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  return builder.BuildAndStart();
}

class Server final : public SocketServer {
 public:
  // `stop` is an eventfd. `server` serves the first connections. Accept() makes the later servers.
  Server(OwnFile file, UniqueFd socket, UniqueFd stop, grpc::Service* service,
         std::unique_ptr<grpc::Server> server)
      : file_(std::move(file)),
        socket_(std::move(socket)),
        stop_(std::move(stop)),
        service_(service),
        acceptor_([this, server = std::move(server)]() mutable { Accept(std::move(server)); }) {}

  ~Server() override {
    file_.Remove().IgnoreError();
    const uint64_t one = 1;
    // The first write to an eventfd cannot block.
    [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof(one));
    acceptor_.join();
  }

  absl::StatusOr<bool> in_place() const override { return file_.in_place(); }

 private:
  // Serves connections until stopped. gRPC's threads wake up several times a second while any gRPC
  // object exists, so a gRPC server only exists during connections and for kLingerMs afterwards.
  void Accept(std::unique_ptr<grpc::Server> server) {
    // Duplicates of the connections' descriptors; gRPC owns the originals.
    std::vector<UniqueFd> connections;
    std::vector<pollfd> watched;
    while (true) {
      watched = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                 {.fd = socket_.get(), .events = POLLIN, .revents = 0}};
      for (const UniqueFd& connection : connections) {
        watched.push_back({.fd = connection.get(), .events = POLLRDHUP, .revents = 0});
      }
      const bool idle = server != nullptr && connections.empty();
      const int ready = poll(watched.data(), watched.size(), idle ? kLingerMs : -1);
      if (ready < 0 && errno != EINTR) absl::SleepFor(kPauseInShortage);
      if (ready < 0) continue;
      const bool stopping = watched[0].revents != 0;
      if (server != nullptr && (stopping || ready == 0)) {
        server->Shutdown(std::chrono::system_clock::now());
        server.reset();
      }
      if (stopping) return;
      for (ptrdiff_t i = std::ssize(connections); i-- > 0;) {
        if (watched[i + 2].revents != 0) connections.erase(connections.begin() + i);
      }
      if (watched[1].revents != 0) AcceptConnection(&server, &connections);
    }
  }

  void AcceptConnection(std::unique_ptr<grpc::Server>* server, std::vector<UniqueFd>* connections) {
    UniqueFd accepted(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    UniqueFd second(accepted.get() < 0 ? -1 : fcntl(accepted.get(), F_DUPFD_CLOEXEC, 0));
    if (second.get() < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        absl::SleepFor(kPauseInShortage);
      }
      return;
    }
    if (*server == nullptr) *server = NewServer(service_);
    if (*server == nullptr) return;  // The client sees the connection end.
    grpc::AddInsecureChannelFromFd(server->get(), accepted.Release());
    connections->push_back(std::move(second));
  }

  const OwnFile file_;
  const UniqueFd socket_, stop_;
  grpc::Service* const service_;
  std::thread acceptor_;
};

bool SendAll(int to, const char* bytes, ssize_t size) {
  while (size > 0) {
    const ssize_t sent = send(to, bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return false;
    bytes += std::max<ssize_t>(sent, 0);
    size -= std::max<ssize_t>(sent, 0);
  }
  return true;
}

// gRPC reads a socket without a limit. Therefore gRPC gets one end of a socket pair. A thread
// copies bytes between the pair's other end and the connection, and counts the received bytes.
class Channel final : public SocketChannel {
 public:
  // `inner` is the pair's end that gRPC does not get. Both descriptors must be blocking.
  static absl::StatusOr<std::unique_ptr<SocketChannel>> Make(UniqueFd outer, UniqueFd inner,
                                                             std::shared_ptr<grpc::Channel> grpc) {
    auto made =
        std::unique_ptr<Channel>(new Channel(std::move(outer), std::move(inner), std::move(grpc)));
    ABSL_ASSIGN_OR_RETURN(made->relay_, StartThread([self = made.get()] { self->Relay(); }));
    return made;
  }
  ~Channel() override {
    EndBoth();
    if (relay_.joinable()) relay_.join();
  }
  const std::shared_ptr<grpc::Channel>& channel() const override { return channel_; }

 private:
  Channel(UniqueFd outer, UniqueFd inner, std::shared_ptr<grpc::Channel> grpc)
      : ends_{std::move(outer), std::move(inner)}, channel_(std::move(grpc)) {}

  // Shuts down both ends, which also wakes the relay from its poll.
  void EndBoth() const {
    for (const UniqueFd& end : ends_) shutdown(end.get(), SHUT_RDWR);
  }

  void Relay() const {
    std::array<char, 8192> bytes;
    size_t received = 0;
    std::array<pollfd, 2> ready = {{{.fd = ends_[0].get(), .events = POLLIN, .revents = 0},
                                    {.fd = ends_[1].get(), .events = POLLIN, .revents = 0}}};
    for (bool open = true; open;) {
      if (poll(ready.data(), ready.size(), -1) < 0) continue;
      for (size_t i = 0; open && i < ready.size(); ++i) {
        if (ready[i].revents == 0) continue;
        const ssize_t size = recv(ready[i].fd, bytes.data(), bytes.size(), 0);
        if (i == 0 && size > 0) received += static_cast<size_t>(size);
        open =
            size > 0 && received <= kMostReceived && SendAll(ready[1 - i].fd, bytes.data(), size);
      }
    }
    EndBoth();
  }

  const std::array<UniqueFd, 2> ends_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::thread relay_;
};

}  // namespace

absl::StatusOr<bool> SocketExists(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0) {
    if (errno == ENOENT) return false;
    return Failure(path, "stat");
  }
  if (!S_ISSOCK(file.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": it is not a socket"));
  }
  return true;
}

absl::Status RemoveSocket(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const bool exists, SocketExists(path));
  if (exists && unlink(path.c_str()) != 0 && errno != ENOENT) return Failure(path, "unlink");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SocketServer>> SocketServer::Listen(std::string path,
                                                                   grpc::Service* service) {
  ABSL_ASSIGN_OR_RETURN(const sockaddr_un address, Address(path));
  ABSL_ASSIGN_OR_RETURN(UniqueFd socket, NewSocket(path));
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (stop.get() < 0) return Failure(path, "eventfd");
  // Linux creates the file with the mode of the socket (unix_bind in net/unix/af_unix.c). A umask
  // would affect the files of other threads, too.
  if (fchmod(socket.get(), S_IRUSR | S_IWUSR) != 0) return Failure(path, "fchmod");
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Failure(path, "bind");
  }
  absl::StatusOr<OwnFile> file = OwnFile::Adopt(path);
  if (!file.ok()) {
    unlink(path.c_str());
    return absl::UnavailableError(file.status().message());
  }
  if (listen(socket.get(), kBacklog) != 0) {
    absl::Status failure = Failure(path, "listen");
    file->Remove().IgnoreError();
    return failure;
  }
  std::unique_ptr<grpc::Server> server = NewServer(service);
  if (server == nullptr) {
    file->Remove().IgnoreError();
    return absl::UnavailableError(absl::StrCat(path, ": gRPC did not start a server"));
  }
  return std::make_unique<Server>(*std::move(file), std::move(socket), std::move(stop), service,
                                  std::move(server));
}

absl::StatusOr<std::unique_ptr<SocketChannel>> SocketChannel::Connect(const std::string& path,
                                                                      SteadyTime deadline) {
  ABSL_ASSIGN_OR_RETURN(const sockaddr_un address, Address(path));
  while (true) {
    ABSL_ASSIGN_OR_RETURN(UniqueFd socket, NewSocket(path));
    // Repeats connect() after any error. EAGAIN means that the listener's queue is full
    // (https://man7.org/linux/man-pages/man2/connect.2.html).
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
      int pair[2];
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return Failure(path, "socketpair");
      }
      UniqueFd inner(pair[0]), grpcs(pair[1]);
      fcntl(socket.get(), F_SETFL, 0);
      fcntl(grpcs.get(), F_SETFL, O_NONBLOCK);
      grpc::ChannelArguments arguments;
      arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
      return Channel::Make(
          std::move(socket), std::move(inner),
          grpc::CreateCustomInsecureChannelFromFd("unix", grpcs.Release(), arguments));
    }
    absl::Status failure = Failure(path, "connect");
    const absl::Duration left = deadline - SteadyTime::Now();
    if (left <= absl::ZeroDuration()) return failure;
    absl::SleepFor(std::min(kPause, left));
  }
}

}  // namespace csi_proxy::sidecars

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "client/cpp/misbehaving_server.h"

namespace csi_proxy::client {

struct MisbehavingServer::State {
  int listener = -1;
  Misbehaviour misbehaviour;
  std::thread thread;
  std::mutex mutex;
  bool stopping = false;
  std::vector<int> sockets;
  std::vector<std::thread> readers;

  void Send(int socket, const std::string& bytes) {
    (void)!send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  void Read(int socket) {
    char bytes[4096];
    while (recv(socket, bytes, sizeof(bytes), 0) > 0) {
      if (misbehaviour == Misbehaviour::kGarbageToCalls) Send(socket, std::string(100, '\xff'));
      if (misbehaviour == Misbehaviour::kClosesCalls) break;
    }
    shutdown(socket, SHUT_RDWR);
  }

  void Serve() {
    while (true) {
      const int socket = accept(listener, nullptr, nullptr);
      if (socket < 0) return;
      std::lock_guard lock(mutex);
      sockets.push_back(socket);
      if (stopping) return;
      switch (misbehaviour) {
        case Misbehaviour::kBusy:
        case Misbehaviour::kSilent:
          break;
        case Misbehaviour::kClosesAtOnce:
          shutdown(socket, SHUT_RDWR);
          break;
        case Misbehaviour::kGarbage:
          Send(socket, std::string(1000, 'x'));
          break;
        case Misbehaviour::kStuck:
          Send(socket, kWideOpen);
          break;
        case Misbehaviour::kClosesCalls:
        case Misbehaviour::kGarbageToCalls:
        case Misbehaviour::kIgnoresCalls:
          Send(socket, kWideOpen);
          [[fallthrough]];
        case Misbehaviour::kListener:
          readers.emplace_back([this, socket] { Read(socket); });
          break;
      }
    }
  }
};

MisbehavingServer::MisbehavingServer(const std::string& path, Misbehaviour misbehaviour)
    : state_(std::make_unique<State>()) {
  state_->misbehaviour = misbehaviour;
  state_->listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  // The test cannot run without its server.
  if (bind(state_->listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) abort();
  listen(state_->listener, misbehaviour == Misbehaviour::kBusy ? 0 : 100);
  if (misbehaviour != Misbehaviour::kBusy) {
    state_->thread = std::thread([this] { state_->Serve(); });
    return;
  }
  // One connection fills the backlog.
  const int taker = socket(AF_UNIX, SOCK_STREAM, 0);
  (void)!connect(taker, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  state_->sockets.push_back(taker);
}

MisbehavingServer::~MisbehavingServer() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    shutdown(state_->listener, SHUT_RDWR);
  }
  if (state_->thread.joinable()) state_->thread.join();
  for (const int socket : state_->sockets) shutdown(socket, SHUT_RDWR);
  for (std::thread& reader : state_->readers) reader.join();
  for (const int socket : state_->sockets) close(socket);
  close(state_->listener);
}

}  // namespace csi_proxy::client

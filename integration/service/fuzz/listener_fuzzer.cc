// Feeds fuzzed bytes to the real listener and its gRPC server through a socket. Half of the inputs
// are sent after the HTTP/2 preface and SETTINGS, so that they reach gRPC.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "server/rpc/http2_guard.h"
#include "server/service/open_node.h"
#include "server/service/options.h"
#include "server/service/server.h"
#include "server/service/versioned_services.h"

namespace {

using namespace csi_proxy;  // NOLINT: a program of its own

// The service of all inputs. Never destroyed.
struct Service {
  std::string directory;
  OpenedNode node;
  std::unique_ptr<Server> server;

  Service() {
    char pattern[] = "/tmp/csi-proxy-fuzz-XXXXXX";
    directory = mkdtemp(pattern);
    Options options;
    options.host = HostKind::kSimulated;
    options.place.socket_dir = directory;
    options.api_versions = {"volume/v1"};
    options.working_dirs = {R"(C:\var\lib\kubelet)"};
    node = *OpenNode(options);
    server = *Server::Start(options, *node.node, {});
  }
};

bool Send(int fd, absl::string_view bytes) {
  return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Service* const service = new Service();
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = service->directory + "/csi-proxy-volume-v1.sock";
  strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  // If the service no longer accepts, an earlier input has killed it.
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) abort();
  absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  bool open = true;
  if (!bytes.empty() && bytes[0] % 2 == 1) {
    constexpr absl::string_view kSettings("\0\0\0\4\0\0\0\0\0", 9);
    open = Send(fd, rpc::kHttp2Preface) && Send(fd, kSettings);
    bytes.remove_prefix(1);
  }
  if (open && Send(fd, bytes)) {
    // Waits until the server answers or ends the connection, i.e. has processed the input.
    shutdown(fd, SHUT_WR);
    timeval limit{.tv_sec = 0, .tv_usec = 20'000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    char buffer[4096];
    while (recv(fd, buffer, sizeof(buffer), 0) > 0) {
    }
  }
  close(fd);
  return 0;
}

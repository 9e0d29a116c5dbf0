// Helpers for tests on POSIX.
#pragma once

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace csi_proxy {

// Creates a new directory; removes it and its contents on destruction.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    char pattern[] = "/tmp/csi-proxy-test-XXXXXX";
    path_ = mkdtemp(pattern);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Returns a port of 127.0.0.1 that was free at the time of the call.
inline int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd, name, size) != 0 || getsockname(fd, name, &size) != 0) abort();
  close(fd);
  return ntohs(address.sin_port);
}

}  // namespace csi_proxy

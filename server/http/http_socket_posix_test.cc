#include <fcntl.h>

#include <boost/asio/io_context.hpp>

#include "gtest/gtest.h"
#include "server/http/http_server.h"
#include "server/http/http_socket.h"
#include "server/http/http_testing.h"

namespace csi_proxy {
namespace {

int OpenAcrossExec() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) ++count;
  }
  return count;
}

TEST(HttpSocketTest, ChildProcessesInheritNoSocketOfTheServer) {
  const int before = OpenAcrossExec();
  int within = 0;
  const auto server = HttpServer::Listen({.host = "127.0.0.1", .port = 0}, {{"/", [&] {
                                                                               within =
                                                                                   OpenAcrossExec();
                                                                               return Healthy();
                                                                             }}});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(OpenAcrossExec(), before);
  EXPECT_EQ(http_testing::Get((*server)->port(), "/").code, 200);
  EXPECT_EQ(within, before + 1);  // Get()'s own
}

}  // namespace
}  // namespace csi_proxy

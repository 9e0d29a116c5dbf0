#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "client/sidecars/socket.h"

namespace csi_proxy::sidecars {
namespace {

TEST(SocketPathTest, TakesSocketsAlone) {
  const std::pair<std::string, std::string> taken[] = {
      {"/csi/csi.sock", "/csi/csi.sock"},
      {"unix:///csi/csi.sock", "/csi/csi.sock"},
      {"unix:/csi/csi.sock", "/csi/csi.sock"},
      {R"(C:\csi\csi.sock)", R"(C:\csi\csi.sock)"},
      {R"(unix://C:\csi\csi.sock)", R"(C:\csi\csi.sock)"},
      {"/csi/a:b", "/csi/a:b"},
#ifdef _WIN32
      {"unix:///C:/csi/csi.sock", "C:/csi/csi.sock"},
#endif
  };
  for (const auto& [address, path] : taken) {
    const absl::StatusOr<std::string> result = SocketPath(address);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(*result, path);
  }
  for (const std::string address : {"", "unix://", "tcp://h:1", "localhost:10000", "1.2.3.4:5",
                                    "dns:///driver", "vsock:3:4", "unix-abstract:x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(SocketPath(address).status())) << address;
  }
}

}  // namespace
}  // namespace csi_proxy::sidecars

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/sidecars/socket.h"

namespace csi_proxy::sidecars {
namespace {

TEST(SocketPathTest, OnlyPathsAndUnixAddressesAreAccepted) {
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

TEST(SocketPathTest, TheErrorOfAMissingSocketListsSocketsInOtherFolders) {
  const auto plugins = std::filesystem::path(testing::TempDir()) / "socket_path_test";
  std::filesystem::remove_all(plugins);
  for (const char* folder : {"disk.csi", "disk.csi-win", "disk.csi-win/deeper"}) {
    std::filesystem::create_directories(plugins / folder);
    std::ofstream(plugins / folder / (folder == std::string("disk.csi") ? "log" : "csi.sock"));
  }
  EXPECT_EQ(DescribeMissing((plugins / "disk.csi/csi.sock").string()),
            absl::StrCat("no such file; sockets found below ", plugins.string(), ": ",
                         (plugins / "disk.csi-win" / "csi.sock").string()));
  EXPECT_EQ(DescribeMissing((plugins / "disk.csi/log").string()), "");
}

}  // namespace
}  // namespace csi_proxy::sidecars

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "server/rpc/socket_directory_posix.h"
#include "server/rpc/testing_posix.h"

namespace csi_proxy::rpc {
namespace {

namespace fs = std::filesystem;

TEST(SocketDirectoryTest, TheDirectoryAndItsSocketsArePrivate) {
  TemporaryDirectory parent;
  const std::string path = parent.path() + "/sockets";
  auto directory = SocketDirectory::Open(path);
  ASSERT_TRUE(directory.ok()) << directory.status();
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);

  auto socket = directory->Bind("a.sock");
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_FALSE(fs::exists(path + "/a.sock")) << "a socket is not seen before it is published";
  ASSERT_TRUE(directory->Publish("a.sock").ok());
  ASSERT_EQ(stat((path + "/a.sock").c_str(), &info), 0);
  EXPECT_TRUE(S_ISSOCK(info.st_mode));
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_TRUE(ConnectUnix(path + "/a.sock").valid());
  directory->Remove("a.sock");
  EXPECT_FALSE(fs::exists(path + "/a.sock"));
}

TEST(SocketDirectoryTest, ASecondServerIsRefused) {
  TemporaryDirectory parent;
  auto first = SocketDirectory::Open(parent.path());
  ASSERT_TRUE(first.ok());
  auto second = SocketDirectory::Open(parent.path());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition) << second.status();
}

TEST(SocketDirectoryTest, ASocketOfADeadServerIsReplaced) {
  TemporaryDirectory parent;
  {
    auto dead = SocketDirectory::Open(parent.path());
    auto socket = dead->Bind("a.sock");
    ASSERT_TRUE(dead->Publish("a.sock").ok());
  }
  auto next = SocketDirectory::Open(parent.path());
  ASSERT_TRUE(next.ok()) << next.status();
  auto socket = next->Bind("a.sock");
  ASSERT_TRUE(socket.ok()) << socket.status();
  ASSERT_TRUE(next->Publish("a.sock").ok());
  EXPECT_TRUE(ConnectUnix(parent.path() + "/a.sock").valid());
}

TEST(SocketDirectoryTest, APathWithASymbolicLinkIsRefused) {
  TemporaryDirectory parent;
  fs::create_directories(parent.path() + "/real/inner");
  fs::create_directory_symlink(parent.path() + "/real", parent.path() + "/link");
  for (const char* name : {"/link", "/link/inner"}) {
    auto directory = SocketDirectory::Open(parent.path() + name);
    EXPECT_EQ(directory.status().code(), absl::StatusCode::kPermissionDenied) << directory.status();
  }
  EXPECT_TRUE(fs::is_empty(parent.path() + "/real/inner"));
}

TEST(SocketDirectoryTest, ADirectoryThatOthersMayWriteToIsRefused) {
  TemporaryDirectory parent;
  fs::permissions(parent.path(), fs::perms::all);
  EXPECT_EQ(SocketDirectory::Open(parent.path()).status().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(SocketDirectoryTest, ALinkInPlaceOfTheLockFileIsNotFollowed) {
  TemporaryDirectory parent;
  const std::string victim = parent.path() + "/victim";
  fs::create_directory(parent.path() + "/d");
  fs::create_symlink(victim, parent.path() + "/d/csi-proxy.lock");
  EXPECT_FALSE(SocketDirectory::Open(parent.path() + "/d").ok());
  EXPECT_FALSE(fs::exists(victim));
}

TEST(SocketDirectoryTest, TheErrorNamesTheMissingParentDirectory) {
  const auto directory = SocketDirectory::Open("/nonexistent/csi-proxy");
  EXPECT_EQ(directory.status().code(), absl::StatusCode::kNotFound) << directory.status();
  EXPECT_NE(directory.status().message().find("/nonexistent/csi-proxy"), std::string::npos);
}

TEST(SocketDirectoryTest, APathLongerThanASocketAddressWorks) {
  TemporaryDirectory parent;
  const std::string path = parent.path() + "/" + std::string(150, 'd');
  auto directory = SocketDirectory::Open(path);
  ASSERT_TRUE(directory.ok()) << directory.status();
  EXPECT_TRUE(directory->Bind("csi-proxy-filesystem-v1alpha1.sock").ok());
}

}  // namespace
}  // namespace csi_proxy::rpc

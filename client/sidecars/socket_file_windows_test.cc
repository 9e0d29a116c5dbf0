// The files of Unix sockets, and servers on such sockets if Windows has them. Wine 8 does not.
#include "client/sidecars/socket_testing_windows.h"
// Must follow winsock2.h.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "server/machine/windows/testing_windows.h"
#include "server/rpc/pipe/object_security.h"

namespace csi_proxy::sidecars {
namespace {

class SocketFileTest : public testing::Test {
 protected:
  SocketFileTest() {
    wchar_t directory[MAX_PATH + 1];
    GetTempPathW(MAX_PATH + 1, directory);
    static int next = 0;
    path_ = absl::StrCat(win32::Utf8(directory), "csi-", GetCurrentProcessId(), "-", next++, "é");
  }
  ~SocketFileTest() override {
    for (const std::string& path : {path_, other()}) DeleteFileW(win32::Utf16(path).c_str());
  }
  std::string other() const { return path_ + "-other"; }
  static void Make(const std::string& path) {
    const win32::UniqueHandle file(
        CreateFileW(win32::Utf16(path).c_str(), GENERIC_WRITE, 0, nullptr, CREATE_NEW, 0, nullptr));
    ASSERT_TRUE(file.valid()) << path;
  }
  static bool Exists(const std::string& path) {
    return GetFileAttributesW(win32::Utf16(path).c_str()) != INVALID_FILE_ATTRIBUTES;
  }

  std::string path_;
};

TEST_F(SocketFileTest, WhatIsNotThereIsNotASocketAndNeedsNoRemoval) {
  for (const std::string& path : {path_, path_ + "/below"}) {
    EXPECT_EQ(*SocketExists(path), false);
    EXPECT_TRUE(RemoveSocket(path).ok());
  }
}

TEST_F(SocketFileTest, AnotherKindOfFileIsRefusedAndStays) {
  Make(path_);
  wchar_t directory[MAX_PATH + 1];
  GetTempPathW(MAX_PATH + 1, directory);
  for (const std::string& path : {path_, win32::Utf8(directory)}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(SocketExists(path).status())) << path;
    EXPECT_TRUE(absl::IsFailedPrecondition(RemoveSocket(path))) << path;
    EXPECT_TRUE(Exists(path));
  }
}

TEST_F(SocketFileTest, KnowsItsOwnFileAndRemovesNoOther) {
  Make(path_);
  const auto file = ProtectSocket(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->in_place());
  // Created before the old file is deleted, so that it has another id.
  Make(other());
  ASSERT_TRUE(MoveFileExW(win32::Utf16(other()).c_str(), win32::Utf16(path_).c_str(),
                          MOVEFILE_REPLACE_EXISTING));
  EXPECT_FALSE(file->in_place());
  EXPECT_TRUE(file->Remove().ok());
  EXPECT_TRUE(Exists(path_));
}

TEST_F(SocketFileTest, RemovesItsOwn) {
  Make(path_);
  const auto file = ProtectSocket(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  // Another program, for example a scanner, has the file open. Wine 8 would wait for it.
  win32::UniqueHandle open(CreateFileW(win32::Utf16(path_).c_str(), GENERIC_READ,
                                       FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING,
                                       0, nullptr));
  if (machine::IsWine()) open.Reset();
  EXPECT_TRUE(file->Remove().ok());
  EXPECT_FALSE(file->in_place());
  EXPECT_TRUE(file->Remove().ok());
}

TEST_F(SocketFileTest, LetsInNobodyElse) {
  Make(path_);
  ASSERT_TRUE(ProtectSocket(path_).ok());
  const win32::UniqueHandle file(CreateFileW(win32::Utf16(path_).c_str(), READ_CONTROL, 0, nullptr,
                                             OPEN_EXISTING, 0, nullptr));
  ASSERT_TRUE(file.valid());
  const auto security = pipe::SecurityOf(file.get());
  ASSERT_TRUE(security.ok()) << security.status();
  ASSERT_TRUE(security->has_dacl);
  EXPECT_FALSE(security->dacl.empty());
  for (const pipe::AccessEntry& entry : security->dacl) {
    // The SIDs of Everyone, Authenticated Users and Users.
    for (const char* many : {"S-1-1-0", "S-1-5-11", "S-1-5-32-545"}) EXPECT_NE(entry.sid, many);
  }
}

// --- Unix sockets ---

class UnixSocketTest : public SocketFileTest {
 protected:
  void SetUp() override {
    const pipe::Socket socket(WSASocketW(AF_UNIX, SOCK_STREAM, 0, nullptr, 0, 0));
    if (!socket.valid()) GTEST_SKIP() << "there are none here";
  }
  Service service_;
};

TEST_F(UnixSocketTest, IsServedAndRemoved) {
  {
    const auto server = SocketServer::Listen(path_, &service_);
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_TRUE((*server)->in_place());
    EXPECT_EQ(*SocketExists(path_), true);
    const auto channel = SocketChannel::Connect(path_, absl::Now() + kSoon);
    ASSERT_TRUE(channel.ok()) << channel.status();
    EXPECT_TRUE(Ask(**channel).ok());
    EXPECT_TRUE(absl::IsUnavailable(SocketServer::Listen(path_, &service_).status()));
  }
  EXPECT_FALSE(Exists(path_));
}

TEST_F(UnixSocketTest, AnotherServersSocketStays) {
  auto first = SocketServer::Listen(path_, &service_);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(RemoveSocket(path_).ok());
  EXPECT_FALSE((*first)->in_place());
  const auto second = SocketServer::Listen(path_, &service_);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE((*first)->in_place());
  first->reset();
  EXPECT_TRUE((*second)->in_place());
}

}  // namespace
}  // namespace csi_proxy::sidecars

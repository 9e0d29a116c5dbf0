// Options of csi_proxy_open reach the node.
#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <string>

#include "client/c/testing.h"

namespace csi_proxy::c {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr int32_t kPermissionDenied = 7;

TEST(OptionsTest, WorkingDirsReplacesTheDefaultDirectories) {
  const std::string elsewhere = Text(1, R"(C:\elsewhere\x)");
  EXPECT_EQ(Node().Call(kPathExists, elsewhere).code, kPermissionDenied);
  const Node node(R"({"node": "SIMULATED", "workingDirs": ["C:\\elsewhere", "C:\\other"]})");
  EXPECT_EQ(node.Call(kPathExists, elsewhere).code, kOk);
  EXPECT_EQ(node.Call(kPathExists, Text(1, R"(C:\other\x)")).code, kOk);
  EXPECT_EQ(node.Call(kPathExists, Text(1, Directory("x"))).code, kPermissionDenied);
}

TEST(OptionsTest, AllowedServicesLimitsWhichServicesMayBeStarted) {
  constexpr char kStart[] = "/v1alpha1.System/StartService";
  EXPECT_EQ(Node().Call(kStart, Text(1, "MSiSCSI")).code, kOk);
  const Node node(R"({"node": "SIMULATED", "allowedServices": ["LanmanWorkstation"]})");
  EXPECT_EQ(node.Call(kStart, Text(1, "LanmanWorkstation")).code, kOk);
  EXPECT_EQ(node.Call(kStart, Text(1, "MSiSCSI")).code, kPermissionDenied);
}

// The file server of this share cannot encrypt.
TEST(OptionsTest, AllowPlainSmbPermitsSharesWithoutEncryption) {
  const std::string request =
      Text(1, R"(\\oldnas.example\public)") + Text(3, "guest") + Text(4, "guest-password");
  constexpr char kMap[] = "/v1.Smb/NewSmbGlobalMapping";
  const Result refused = Node().Call(kMap, request);
  EXPECT_EQ(refused.code, kFailedPrecondition);
  EXPECT_THAT(refused.message, HasSubstr("require_privacy"));
  EXPECT_EQ(Node(R"({"node": "SIMULATED", "allowPlainSmb": false})").Call(kMap, request).code,
            kFailedPrecondition);
  EXPECT_EQ(Node(R"({"node": "SIMULATED", "allowPlainSmb": true})").Call(kMap, request).code, kOk);
}

TEST(OptionsTest, BindSmbCredentialsMakesAMappedShareRefuseOtherCredentials) {
  const std::string share = Text(1, R"(\\fileserver.example\data)") + Text(3, R"(EXAMPLE\storage)");
  const std::string right = share + Text(4, "correct horse"), wrong = share + Text(4, "wrong");
  constexpr char kMap[] = "/v1.Smb/NewSmbGlobalMapping";
  const Node as_ever;
  EXPECT_EQ(as_ever.Call(kMap, right).code, kOk);
  EXPECT_EQ(as_ever.Call(kMap, wrong).code, kOk);
  const Node node(R"({"node": "SIMULATED", "bindSmbCredentials": true})");
  EXPECT_EQ(node.Call(kMap, right).code, kOk);
  EXPECT_EQ(node.Call(kMap, wrong).code, kPermissionDenied);
}

TEST(OptionsTest, CallsBeyondMaxCallsAndMaxQueuedAreRefused) {
  const Node node(R"({"node": "SIMULATED", "maxCalls": 1, "maxQueued": 0})");
  node.SlowDown("disk.*", 60'000);
  const csi_proxy_call calls[] = {node.Begin(), node.Begin()};
  std::future<int32_t> codes[2];
  for (int i : {0, 1}) {
    codes[i] = std::async(std::launch::async,
                          [&, i] { return node.Call(kRescan, "", {.call = calls[i]}).code; });
  }
  // The node answers the call over the limit immediately.
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  int second = -1;
  while (second < 0 && std::chrono::steady_clock::now() < give_up) {
    for (int i : {0, 1}) {
      if (codes[i].wait_for(std::chrono::milliseconds(5)) == std::future_status::ready) second = i;
    }
  }
  ASSERT_GE(second, 0);
  EXPECT_EQ(codes[second].get(), kResourceExhausted);
  csi_proxy_cancel(calls[1 - second]);
  EXPECT_EQ(codes[1 - second].get(), kCancelled);
}

#ifndef _WIN32
TEST(OptionsTest, OpenFailsIfTheLockDirectoryCannotBeMade) {
  EXPECT_EQ(Open(R"({"node": "SIMULATED", "lockDirectory": "/proc/none/there"})").node, 0u);
}
#endif

}  // namespace
}  // namespace csi_proxy::c

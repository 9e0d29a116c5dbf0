#include "server/platform/peer_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "server/base/testing_posix.h"
#endif

namespace csi_proxy {
namespace {

TEST(PeerProcessTest, AProcessHasAnImageAndAConstantStartTime) {
  const Peer own = OwnProcess();
  EXPECT_THAT(own.image_path, testing::HasSubstr("platform_test"));
  const uint64_t start = StartOfProcess(own.process_id);
  EXPECT_NE(start, 0u);
  EXPECT_EQ(StartOfProcess(own.process_id), start);
}

TEST(PeerProcessTest, AProcessAlwaysHasTheSameTenant) {
  const Peer own = OwnProcess();
  const std::string tenant = TenantOf(own);
  EXPECT_NE(tenant, "");
  EXPECT_EQ(TenantOf(own), tenant);
}

TEST(PeerProcessTest, AMissingProcessHasNoImageStartTimeOrTenant) {
  constexpr int64_t kNobody = 0x7ffffff0;
  EXPECT_EQ(PeerOfProcess(kNobody).image_path, "");
  EXPECT_EQ(StartOfProcess(kNobody), 0u);
  EXPECT_EQ(TenantOf(PeerOfProcess(kNobody)), "");
}

#ifndef _WIN32
TEST(PeerProcessTest, AnImagePathIsUtf8EvenIfTheFileNameIsNot) {
  const TemporaryDirectory directory;
  const std::string image = directory.path() + "/driver\xff\xc3";
  std::filesystem::copy_file("/bin/sleep", image);
  const pid_t child = fork();
  if (child == 0) {
    execl(image.c_str(), image.c_str(), "60", nullptr);
    _exit(1);
  }
  // The child is this program until it calls exec().
  std::string path;
  for (int i = 0; i < 1000 && !absl::StrContains(path, "driver"); ++i) {
    path = PeerOfProcess(child).image_path;
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(path, directory.path() + "/driver\uFFFD\uFFFD");
  EXPECT_NE(TenantOf(PeerOfProcess(child)), TenantOf(OwnProcess())) << "another image";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(PeerProcessTest, AChildWithItsParentsImageHasItsParentsTenant) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_EQ(TenantOf(PeerOfProcess(child)), TenantOf(OwnProcess()));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}
#endif

}  // namespace
}  // namespace csi_proxy

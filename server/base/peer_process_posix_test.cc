#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "server/base/peer_process.h"
#include "server/base/testing_posix.h"

namespace csi_proxy {
namespace {

TEST(PeerProcessTest, TheNameOfAnImageIsUtf8WhateverItsFileIsCalled) {
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

TEST(PeerProcessTest, AChildThatRunsTheSameIsOfTheSameTenant) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_EQ(TenantOf(PeerOfProcess(child)), TenantOf(OwnProcess()));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace csi_proxy

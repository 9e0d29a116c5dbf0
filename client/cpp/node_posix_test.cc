// Tests of Node on a machine without Windows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/node.h"
#include "server/base/testing_posix.h"

namespace csi_proxy {
namespace {

TEST(NodePosixTest, AWindowsNodeIsUnimplementedOnPosix) {
  const absl::Status refused = Node::Windows().status();
  EXPECT_TRUE(absl::IsUnimplemented(refused)) << refused;
  EXPECT_EQ(refused.message(),
            "this machine is not a Windows node: Node::Simulated() opens one in memory");
}

TEST(NodePosixTest, AnEmptyListOfWorkingDirectoriesIsRefused) {
  NodeOptions options;
  options.working_dirs.clear();
  const auto node = Node::Simulated(options);
  ASSERT_FALSE(node.ok());
  EXPECT_THAT(std::string(node.status().message()),
              testing::HasSubstr("working_dirs: at least one"));
}

TEST(NodePosixTest, ErrorsNameALockDirectoryThatCannotBeMade) {
  NodeOptions options;
  options.lock_directory = "/dev/null/locks";
  const auto node = Node::Simulated(options);
  ASSERT_FALSE(node.ok());
  EXPECT_THAT(std::string(node.status().message()), testing::HasSubstr("lock_directory: "));
}

// Formats a volume with a timeout of `timeout`, on a node where a format takes `latency`. Writes a
// byte to `ready` before the format.
absl::Status Format(const std::string& locks, absl::Duration latency, absl::Duration timeout,
                    int ready) {
  NodeOptions options;
  options.lock_directory = locks;
  options.log = [](Severity, absl::string_view) {};
  auto node = Node::Simulated(
      options,
      absl::StrCat(
          "disk { size_bytes: 10737418240 page83: 'a' location: 'PCI Slot 1 : Adapter 0 : "
          "Port 0 : Target 0 : LUN 0' } fault { operation: 'wmi.Invoke/MSFT_Volume.Format' "
          "latency_ms: ",
          absl::ToInt64Milliseconds(latency), " }"));
  if (!node.ok()) return node.status();
  CallContext context;
  if (auto s = (*node)->disk().PartitionDisk(context, {.disk_number = 0}); !s.ok()) {
    return s.status();
  }
  const auto volumes = (*node)->volume().ListVolumesOnDisk(context, {.disk_number = 0});
  if (!volumes.ok()) return volumes.status();
  volume::FormatVolumeRequest request;
  request.volume_id = volumes->volume_ids.at(0);
  (void)!write(ready, "r", 1);
  return (*node)->volume().FormatVolume(context.WithTimeout(timeout), request).status();
}

TEST(NodePosixTest, TwoProcessesDoNotFormatOneVolumeSimultaneously) {
  const TemporaryDirectory directory;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t other = fork();
  if (other == 0) {
    _exit(Format(directory.path(), absl::Seconds(2), absl::Seconds(60), ready[1]).ok() ? 0 : 1);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  // By now the other process has locked the volume, for longer than this call waits.
  absl::SleepFor(absl::Milliseconds(300));
  const absl::Status taken =
      Format(directory.path(), absl::Milliseconds(1), absl::Milliseconds(200), ready[1]);
  EXPECT_TRUE(absl::IsDeadlineExceeded(taken)) << taken;
  const absl::Status after =
      Format(directory.path(), absl::Milliseconds(1), absl::Seconds(60), ready[1]);
  EXPECT_TRUE(after.ok()) << after;
  int status = -1;
  ASSERT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace csi_proxy

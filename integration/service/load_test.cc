// Tests many concurrent callers, and callers that vanish.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "integration/service/calls.h"

namespace csi_proxy::integration {
namespace {

// The number of calls in the large test. Sanitizer runs lower it by CSI_PROXY_TEST_CALLS.
int TotalCalls() {
  const char* const text = std::getenv("CSI_PROXY_TEST_CALLS");
  return text != nullptr ? std::atoi(text) : 100'000;
}

TEST(LoadTest, SixtyFourCallersOnOneDiskAndVolumeHaveOneEffectEach) {
  const auto server = ServerProcess::Start();
  ASSERT_TRUE(server.ok()) << server.status();
  constexpr int kCallers = 64;
  const int calls_each = TotalCalls() / kCallers;
  std::atomic<int> failures = 0;
  std::atomic<int> calls = 0;
  std::string first_failure;
  std::mutex mutex;
  const auto note = [&](const absl::Status& status) {
    ++calls;
    if (status.ok()) return;
    ++failures;
    std::lock_guard lock(mutex);
    if (first_failure.empty()) first_failure = status.ToString();
  };
  const std::string target = absl::StrCat(kRoot, "shared");
  std::vector<std::thread> callers;
  for (int n = 0; n < kCallers; ++n) {
    callers.emplace_back([&, n] {
      const auto connection = Connect((*server)->client_options()).value();
      const disk::v1::Client disk(connection);
      const volume::v1::Client volume(connection);
      const filesystem::v1::Client files(connection);
      disk::v1::PartitionDiskRequest partition;
      partition.set_disk_number(1);
      note(disk.PartitionDisk(partition).status());
      volume::v1::ListVolumesOnDiskRequest list;
      list.set_disk_number(1);
      const auto volumes = volume.ListVolumesOnDisk(list);
      note(volumes.status());
      if (!volumes.ok() || volumes->volume_ids_size() != 1) {
        note(absl::InternalError("not one volume"));
        return;
      }
      const std::string& id = volumes->volume_ids(0);
      volume::v1::IsVolumeFormattedRequest formatted;
      formatted.set_volume_id(id);
      if (n == 0) {
        volume::v1::FormatVolumeRequest format;
        format.set_volume_id(id);
        note(volume.FormatVolume(format).status());
      }
      while (true) {
        const auto answer = volume.IsVolumeFormatted(formatted);
        note(answer.status());
        if (!answer.ok() || answer->formatted()) break;
      }
      filesystem::v1::MkdirRequest mkdir;
      mkdir.set_path(target);
      note(files.Mkdir(mkdir).status());
      volume::v1::MountVolumeRequest mount;
      mount.set_volume_id(id);
      mount.set_target_path(target);
      volume::v1::WriteVolumeCacheRequest flush;
      flush.set_volume_id(id);
      disk::v1::SetDiskStateRequest online;
      online.set_disk_number(1);
      online.set_is_online(true);
      for (int i = 0; i < calls_each; ++i) {
        switch (i % 4) {
          case 0:
            note(volume.MountVolume(mount).status());
            break;
          case 1:
            note(disk.PartitionDisk(partition).status());
            break;
          case 2:
            note(volume.WriteVolumeCache(flush).status());
            break;
          case 3:
            note(disk.SetDiskState(online).status());
            break;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(failures, 0) << first_failure;
  EXPECT_GE(calls, kCallers * calls_each);

  const csi_proxy::simulated::Node node = (*server)->Dump();
  int basic = 0;
  for (const auto& partition : node.disk(1).partition()) {
    if (partition.type() == csi_proxy::simulated::BASIC) ++basic;
  }
  EXPECT_EQ(basic, 1) << "partitioned once";
  int mounts = 0;
  for (const auto& partition : node.disk(0).partition()) {
    for (const auto& file : partition.volume().file()) {
      if (!file.mounted_volume_id().empty()) ++mounts;
    }
  }
  EXPECT_EQ(mounts, 1) << "mounted once";
}

TEST(LoadTest, ADeadlineEndsACallAndFreesItsWorker) {
  const auto server = ServerProcess::Start({"--max-workers=1", "--max-queued=8"});
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_TRUE(
      (*server)->InjectFault("operation: 'filesystem.PathExists' latency_ms: 60000 times: 1").ok());
  const filesystem::v1::Client files(Connect((*server)->client_options()).value());
  const absl::Time start = absl::Now();
  const auto late =
      PathExists(files, absl::StrCat(kRoot, "a"), {.timeout = absl::Milliseconds(300)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(late.status())) << late.status();
  EXPECT_TRUE(PathExists(files, absl::StrCat(kRoot, "a")).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(20)) << "the worker did not sleep its minute out";
}

TEST(LoadTest, AClientThatVanishesLeavesNothingLocked) {
  const auto server = ServerProcess::Start();
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string volume_id = MakeVolume(**server);
  ASSERT_TRUE(
      (*server)->InjectFault("operation: 'volume.FormatVolume' latency_ms: 60000 times: 1").ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Starts a fresh program, because gRPC does not survive a fork.
    const std::string dir = "--socket-dir=" + (*server)->directory();
    const std::string id = "--volume-id=" + volume_id;
    execl(CSI_PROXYCTL_BINARY, "csi-proxyctl", "volume", "FormatVolume", dir.c_str(), id.c_str(),
          "--api=v1", nullptr);
    _exit(127);
  }
  absl::SleepFor(absl::Seconds(1));
  ASSERT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "the call is under way";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const volume::v1::Client volume(Connect((*server)->client_options()).value());
  volume::v1::FormatVolumeRequest format;
  format.set_volume_id(volume_id);
  const absl::Time start = absl::Now();
  const auto formatted = volume.FormatVolume(format, {.timeout = absl::Seconds(20)});
  EXPECT_TRUE(formatted.ok()) << formatted.status();
  EXPECT_LT(absl::Now() - start, absl::Seconds(15));
}

}  // namespace
}  // namespace csi_proxy::integration

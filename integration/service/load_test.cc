// Tests many concurrent callers, callers that disconnect, and connections that never send anything.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "integration/service/calls.h"
#include "server/rpc/testing_posix.h"

namespace csi_proxy::integration {
namespace {

using rpc::ConnectUnix;

// The number of calls in the large test. Sanitizer runs lower it by CSI_PROXY_TEST_CALLS.
int TotalCalls() {
  const char* const text = std::getenv("CSI_PROXY_TEST_CALLS");
  return text != nullptr ? std::atoi(text) : 100'000;
}

TEST(LoadTest, CallsOf64CallersOnOneDiskAndVolumeDoNotInterfere) {
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

TEST(LoadTest, CallsBeyondAFullQueueAreResourceExhausted) {
  const auto server =
      ServerProcess::Start({"--max-workers=2", "--max-queued=3", "--client-share=100"});
  ASSERT_TRUE(server.ok()) << server.status();
  // Connected beforehand, so that the calls arrive together even on a busy machine.
  std::vector<filesystem::v1::Client> clients;
  for (int n = 0; n < 12; ++n) {
    clients.emplace_back(Connect((*server)->client_options()).value());
    ASSERT_TRUE(PathExists(clients.back(), absl::StrCat(kRoot, "a")).ok());
  }
  ASSERT_TRUE((*server)->InjectFault("operation: 'filesystem.PathExists' latency_ms: 3000").ok());
  std::atomic<int> ok = 0, exhausted = 0, other = 0;
  std::vector<std::thread> callers;
  for (const auto& files : clients) {
    callers.emplace_back([&] {
      const auto answer = PathExists(files, absl::StrCat(kRoot, "a"));
      ++(answer.ok() ? ok : absl::IsResourceExhausted(answer.status()) ? exhausted : other);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(ok, 5) << "two run and three wait";
  EXPECT_EQ(exhausted, 7);
  EXPECT_EQ(other, 0);
  // The queue is empty again.
  const filesystem::v1::Client files(Connect((*server)->client_options()).value());
  EXPECT_TRUE(PathExists(files, absl::StrCat(kRoot, "a")).ok());
}

TEST(LoadTest, ACallThatEndsEarlyFreesItsWorker) {
  const auto server = ServerProcess::Start({"--max-workers=1", "--max-queued=8"});
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_TRUE(
      (*server)->InjectFault("operation: 'filesystem.PathExists' latency_ms: 60000 times: 2").ok());
  const filesystem::v1::Client files(Connect((*server)->client_options()).value());
  const absl::Time start = absl::Now();
  const auto late =
      PathExists(files, absl::StrCat(kRoot, "a"), {.timeout = absl::Milliseconds(300)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(late.status())) << late.status();
  // The caller cancels its second call and keeps its connection.
  absl::Notification cancelled;
  std::thread caller([&] {
    absl::SleepFor(absl::Milliseconds(300));
    cancelled.Notify();
  });
  const auto gone = PathExists(files, absl::StrCat(kRoot, "a"), {.cancelled = &cancelled});
  caller.join();
  EXPECT_TRUE(absl::IsCancelled(gone.status())) << gone.status();
  EXPECT_TRUE(PathExists(files, absl::StrCat(kRoot, "a")).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(20)) << "a worker slept its minute out";
}

TEST(LoadTest, ADisconnectedClientLeavesNoLock) {
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

TEST(LoadTest, SilentConnectionsEndAtTheDeadlineAndDelayNoClient) {
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const auto server = ServerProcess::Start({"--preface-timeout=4s", "--max-connections=4096"});
  ASSERT_TRUE(server.ok()) << server.status();
  const filesystem::v1::Client files(Connect((*server)->client_options()).value());
  const auto median = [&] {
    std::vector<absl::Duration> times;
    for (int i = 0; i < 300; ++i) {
      const absl::Time start = absl::Now();
      EXPECT_TRUE(PathExists(files, absl::StrCat(kRoot, "a")).ok());
      times.push_back(absl::Now() - start);
    }
    std::nth_element(times.begin(), times.begin() + 150, times.end());
    return times[150];
  };
  median();
  const absl::Duration before = median();
  const int64_t descriptors = OpenDescriptors((*server)->pid());
  std::vector<UniqueFd> silent;
  const std::string path = (*server)->directory() + "/csi-proxy-filesystem-v1.sock";
  for (int i = 0; i < 2000; ++i) {
    silent.push_back(ConnectUnix(path));
    ASSERT_TRUE(silent.back().valid()) << i;
  }
  // Waits while the kernel enlarges the server's table of descriptors.
  const absl::Time give_up = absl::Now() + absl::Seconds(2);
  while (OpenDescriptors((*server)->pid()) <= descriptors + 1500 && absl::Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_GT(OpenDescriptors((*server)->pid()), descriptors + 1500) << "they are there";
  const absl::Duration during = median();
  // Compares with a factor, because the machine is shared.
  EXPECT_LT(during, 5 * before + absl::Milliseconds(2)) << before << " before, " << during;
  absl::SleepFor(absl::Seconds(5));
  EXPECT_LE(OpenDescriptors((*server)->pid()), descriptors + 16) << "all gone after the deadline";
  EXPECT_TRUE(rpc::ClosedWithin(silent[0].get(), 1));
  EXPECT_TRUE(PathExists(files, absl::StrCat(kRoot, "a")).ok());
}

}  // namespace
}  // namespace csi_proxy::integration

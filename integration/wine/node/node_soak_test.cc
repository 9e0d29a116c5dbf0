// The shipped service on a Windows node, for long: what 100,000 operations through COM and Win32
// leave behind. CSI_PROXY_TEST_CALLS sets another number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "csi_proxy/disk/v1/client.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/smb/v1/client.h"
#include "csi_proxy/volume/v1/client.h"
#include "integration/support/server_process.h"
#include "integration/wine/process_counts.h"

namespace csi_proxy::integration {
namespace {

constexpr int kCallers = 4;

int Calls() {
  const char* const text = std::getenv("CSI_PROXY_TEST_CALLS");
  return text != nullptr ? std::max(1'000, std::atoi(text)) : 100'000;
}

class NodeSoakTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = ServerProcess::Start();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    process_.Reset(OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ, FALSE,
                               static_cast<DWORD>(server_->pid())));
    ASSERT_TRUE(process_.valid());
    disk::v1::PartitionDiskRequest partition;
    partition.set_disk_number(1);
    const auto connection = Connect(server_->client_options()).value();
    const disk::v1::Client disks(connection);
    ASSERT_TRUE(disks.PartitionDisk(partition).ok());
    const volume::v1::Client volumes(connection);
    volume::v1::ListVolumesOnDiskRequest on_disk;
    on_disk.set_disk_number(1);
    const auto ids = volumes.ListVolumesOnDisk(on_disk);
    ASSERT_TRUE(ids.ok() && ids->volume_ids_size() == 1) << ids.status();
    volume_ = ids->volume_ids(0);
  }

  // One caller's share: reads and changes, successes and failures, of every part of the host.
  void Run(int caller, int calls) {
    const auto connection = Connect(server_->client_options()).value();
    const disk::v1::Client disks(connection);
    const volume::v1::Client volumes(connection);
    const filesystem::v1::Client files(connection);
    const smb::v1::Client shares(connection);
    const std::string directory = absl::StrCat(R"(C:\var\lib\kubelet\soak)", caller);
    volume::v1::FormatVolumeRequest format;
    format.set_volume_id(volume_);
    volume::v1::IsVolumeFormattedRequest formatted;
    formatted.set_volume_id(volume_);
    filesystem::v1::MkdirRequest mkdir;
    mkdir.set_path(directory + R"(\a\b)");
    filesystem::v1::RmdirRequest rmdir;
    rmdir.set_path(directory);
    rmdir.set_force(true);
    filesystem::v1::CreateSymlinkRequest link;
    link.set_source_path(directory + R"(\a)");
    link.set_target_path(directory + R"(\link)");
    smb::v1::NewSmbGlobalMappingRequest wrong;
    wrong.set_remote_path(R"(\\fileserver.example\data)");
    wrong.set_username("nobody");
    wrong.set_password("wrong");
    for (int i = 0; i < calls; i += 8) {
      EXPECT_TRUE(disks.ListDiskIDs({}).ok());
      EXPECT_TRUE(disks.ListDiskLocations({}).ok());
      EXPECT_TRUE(volumes.FormatVolume(format).ok());
      EXPECT_TRUE(volumes.IsVolumeFormatted(formatted).ok());
      EXPECT_TRUE(files.Mkdir(mkdir).ok());
      EXPECT_TRUE(files.CreateSymlink(link).ok());
      EXPECT_TRUE(files.Rmdir(rmdir).ok());
      EXPECT_FALSE(shares.NewSmbGlobalMapping(wrong).ok());
    }
  }

  void RunAll(int calls) {
    std::vector<std::thread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([this, i, calls] { Run(i, calls / kCallers); });
    }
    for (std::thread& caller : callers) caller.join();
  }

  std::unique_ptr<ServerProcess> server_;
  win32::UniqueHandle process_;
  std::string volume_;
};

TEST_F(NodeSoakTest, LeavesNoHandlesAndNoMemoryBehind) {
  const int calls = Calls();
  RunAll(calls / 5);
  const DWORD handles = HandleRoom(process_);
  const size_t memory = WorkingSet(process_);
  RunAll(calls);
  const DWORD handles_after = HandleRoom(process_);
  const size_t memory_after = WorkingSet(process_);
  std::printf("%d calls: room for %lu handles before, %lu after; %zu KiB before, %zu KiB after\n",
              calls, handles, handles_after, memory / 1024, memory_after / 1024);
  // Wine tells for how many handles there has been room at once, which doubles when more calls meet
  // than ever before. One handle lost in a hundred calls would show.
  EXPECT_LT(handles_after, handles + static_cast<DWORD>(std::max(600, calls / 100)));
  // A leak of 80 bytes a call would show; that threads come to use allocators' arenas evenly would
  // not.
  EXPECT_LT(memory_after, memory + (size_t{8} << 20));
}

}  // namespace
}  // namespace csi_proxy::integration

// The shipped service, unchanged, on a simulated Windows node: a driver's calls from a disk's
// arrival to its departure, and the node's state after them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "csi_proxy/disk/v1/client.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/volume/v1/client.h"
#include "integration/support/server_process.h"

namespace csi_proxy::integration {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kMount[] = R"(C:\var\lib\kubelet\plugins\mnt)";
constexpr uint64_t kGiB = uint64_t{1} << 30;

class NodeSmokeTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = ServerProcess::Start();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    const auto connection = Connect(server_->client_options()).value();
    disks_ = std::make_unique<disk::v1::Client>(connection);
    volumes_ = std::make_unique<volume::v1::Client>(connection);
    files_ = std::make_unique<filesystem::v1::Client>(connection);
  }

  // Attaches a raw disk of 2 GiB and rescans. Returns its number.
  uint32_t AttachDisk() {
    csi_proxy::simulated::AttachDiskRequest attach;
    csi_proxy::simulated::AttachDiskResponse attached;
    attach.set_choose_number(true);
    attach.mutable_disk()->set_size_bytes(2 * kGiB);
    attach.mutable_disk()->set_page83("the-new-disk");
    const absl::Status status = server_->Admin("AttachDisk", attach, &attached);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(disks_->Rescan({}).ok());
    return attached.disk_number();
  }
  // Partitions and formats the disk. Returns the id of its only volume.
  std::string MakeVolume(uint32_t disk_number) {
    disk::v1::PartitionDiskRequest partition;
    partition.set_disk_number(disk_number);
    const auto partitioned = disks_->PartitionDisk(partition);
    EXPECT_TRUE(partitioned.ok()) << partitioned.status();
    volume::v1::ListVolumesOnDiskRequest list;
    list.set_disk_number(disk_number);
    const auto listed = volumes_->ListVolumesOnDisk(list);
    EXPECT_TRUE(listed.ok()) << listed.status();
    EXPECT_EQ(listed->volume_ids_size(), 1);
    volume::v1::FormatVolumeRequest format;
    format.set_volume_id(listed->volume_ids(0));
    EXPECT_TRUE(volumes_->FormatVolume(format).ok());
    return listed->volume_ids(0);
  }
  absl::Status Mount(const std::string& volume) {
    volume::v1::MountVolumeRequest request;
    request.set_volume_id(volume);
    request.set_target_path(kMount);
    return volumes_->MountVolume(request).status();
  }
  absl::Status Unmount(const std::string& volume) {
    volume::v1::UnmountVolumeRequest request;
    request.set_volume_id(volume);
    request.set_target_path(kMount);
    return volumes_->UnmountVolume(request).status();
  }

  // Returns the disk's state on the node.
  csi_proxy::simulated::Disk Disk(uint32_t number) {
    const csi_proxy::simulated::Node node = server_->Dump();
    for (const auto& disk : node.disk()) {
      if (disk.number() == number) return disk;
    }
    ADD_FAILURE() << "no disk " << number;
    return {};
  }
  absl::Status Mkdir(const std::string& path) {
    filesystem::v1::MkdirRequest request;
    request.set_path(path);
    return files_->Mkdir(request).status();
  }
  bool Exists(const std::string& path) {
    filesystem::v1::PathExistsRequest request;
    request.set_path(path);
    const auto exists = files_->PathExists(request);
    EXPECT_TRUE(exists.ok()) << exists.status();
    return exists.ok() && exists->exists();
  }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<disk::v1::Client> disks_;
  std::unique_ptr<volume::v1::Client> volumes_;
  std::unique_ptr<filesystem::v1::Client> files_;
};

TEST_F(NodeSmokeTest, ADiskCanBePartitionedFormattedMountedGrownAndUnmounted) {
  EXPECT_THAT(server_->Log(), HasSubstr("for the Windows node"));
  EXPECT_THAT(server_->Log(), Not(HasSubstr("WMI does not answer")));
  const uint32_t number = AttachDisk();
  const auto ids = disks_->ListDiskIDs({});
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(ids->diskids().at(number).page83(), "the-new-disk");

  const std::string volume = MakeVolume(number);
  EXPECT_EQ(Disk(number).style(), csi_proxy::simulated::GPT);
  volume::v1::IsVolumeFormattedRequest formatted;
  formatted.set_volume_id(volume);
  EXPECT_TRUE(volumes_->IsVolumeFormatted(formatted)->formatted());

  ASSERT_TRUE(Mkdir(kMount).ok());
  const absl::Status mounted = Mount(volume);
  ASSERT_TRUE(mounted.ok()) << mounted;
  volume::v1::GetVolumeIDFromTargetPathRequest which;
  which.set_target_path(kMount);
  EXPECT_EQ(volumes_->GetVolumeIDFromTargetPath(which)->volume_id(), volume);
  // A directory created below the mount point is on the disk.
  ASSERT_TRUE(Mkdir(absl::StrCat(kMount, R"(\data)")).ok());
  EXPECT_THAT(Disk(number).DebugString(), HasSubstr("\"data\""));

  csi_proxy::simulated::GrowDiskRequest grow;
  csi_proxy::simulated::GrowDiskResponse grown;
  grow.set_disk_number(number);
  grow.set_size_bytes(4 * kGiB);
  ASSERT_TRUE(server_->Admin("GrowDisk", grow, &grown).ok());
  ASSERT_TRUE(disks_->Rescan({}).ok());
  volume::v1::ResizeVolumeRequest resize;
  resize.set_volume_id(volume);
  const auto resized = volumes_->ResizeVolume(resize);
  ASSERT_TRUE(resized.ok()) << resized.status();
  volume::v1::GetVolumeStatsRequest measure;
  measure.set_volume_id(volume);
  const auto stats = volumes_->GetVolumeStats(measure);
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_GT(stats->total_bytes(), static_cast<int64_t>(3 * kGiB));

  ASSERT_TRUE(Unmount(volume).ok());
  EXPECT_TRUE(Exists(kMount));
  EXPECT_FALSE(Exists(absl::StrCat(kMount, R"(\data)")));
  disk::v1::SetDiskStateRequest offline;
  offline.set_disk_number(number);
  ASSERT_TRUE(disks_->SetDiskState(offline).ok());
  EXPECT_TRUE(Disk(number).offline());
}

TEST_F(NodeSmokeTest, ErrorsOfTheNodeReachTheClient) {
  ASSERT_TRUE(server_
                  ->InjectFault("operation: 'wmi.Invoke/MSFT_Disk.Initialize' times: 1 "
                                "code: 'INTERNAL' error { code: 41002 }")
                  .ok());
  disk::v1::PartitionDiskRequest partition;
  partition.set_disk_number(1);
  EXPECT_THAT(std::string(disks_->PartitionDisk(partition).status().message()),
              HasSubstr("The disk is read-only (41002)"));
  ASSERT_TRUE(server_
                  ->InjectFault("operation: 'wmi.Query/MSFT_Disk' times: 1 code: 'INTERNAL' "
                                "error { code: 2147749891 }")
                  .ok());
  const absl::Status denied = disks_->PartitionDisk(partition).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(denied)) << denied;
  EXPECT_THAT(std::string(denied.message()), HasSubstr("WBEM_E_ACCESS_DENIED (0x80041003)"));
}

TEST_F(NodeSmokeTest, TheServiceStartsWithoutWmiAndOnTheGivenNode) {
  server_.reset();
  const std::string scenario = NewTestDirectory() + "/scenario.textproto";
  ASSERT_EQ(_putenv_s("CSI_PROXY_DOUBLE_SCENARIO", scenario.c_str()), 0);
  // WMI cannot be activated, because the scenario file does not exist.
  auto without = ServerProcess::Start();
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_THAT((*without)->Log(), HasSubstr("WMI does not answer yet"));
  without->reset();
  std::ofstream(scenario) << "bios_serial_number: 'of the file'";
  auto with = ServerProcess::Start();
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_EQ((*with)->Dump().bios_serial_number(), "of the file");
  ASSERT_EQ(_putenv_s("CSI_PROXY_DOUBLE_SCENARIO", ""), 0);
}

}  // namespace
}  // namespace csi_proxy::integration

// Helpers for the tests of disks and volumes on a strict machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {

using machine::simulator::Behaviour;
using machine::simulator::NodeState;

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kGiB = uint64_t{1} << 30;

class StrictDiskTest : public HandlerTest {
 protected:
  explicit StrictDiskTest(absl::string_view scenario = machine::simulator::DefaultScenarioText())
      : HandlerTest(Files::kSimulated, scenario) {}

  void Change(const std::function<void(NodeState&)>& change) { node_->core()->Change(change); }
  void Behave(const std::function<void(Behaviour&)>& change) {
    Change([&](NodeState& state) { change(state.behaviour); });
  }
  machine::simulator::Disk DiskNow(uint32_t number) { return node_->Snapshot().disks[number]; }

  absl::Status Partition(uint32_t number) {
    return disk_->PartitionDisk(context_, {.disk_number = number}).status();
  }
  absl::Status SetOnline(uint32_t number, bool online) {
    return disk_->SetDiskState(context_, {.disk_number = number, .is_online = online}).status();
  }
  std::vector<std::string> Volumes(uint32_t number) {
    const auto volumes = volume_->ListVolumesOnDisk(context_, {.disk_number = number});
    EXPECT_TRUE(volumes.ok()) << volumes.status();
    return volumes.ok() ? volumes->volume_ids : std::vector<std::string>();
  }
  absl::Status Mount(const std::string& volume, const std::string& path) {
    return volume_->MountVolume(context_, {.volume_id = volume, .target_path = path}).status();
  }
  absl::Status Unmount(const std::string& volume, const std::string& path) {
    return volume_->UnmountVolume(context_, {.volume_id = volume, .target_path = path}).status();
  }
  absl::Status Resize(const std::string& volume, uint64_t bytes) {
    return volume_
        ->ResizeVolume(context_, {.volume_id = volume, .size_bytes = static_cast<int64_t>(bytes)})
        .status();
  }
  uint64_t Size(const std::string& volume) {
    const auto stats = volume_->GetVolumeStats(context_, {.volume_id = volume});
    EXPECT_TRUE(stats.ok()) << stats.status();
    return stats.ok() ? static_cast<uint64_t>(stats->total_bytes) : 0;
  }
  // Returns OK if the volume mounted at a path is writable.
  absl::Status WriteAt(const std::string& path) { return Mkdir(absl::StrCat(path, "\\written")); }

  // Makes the next `times` calls of this operation fail with this error, or all if `times` is 0.
  void Inject(const std::string& operation, uint32_t error, uint32_t times = 1) {
    Fail(operation, times, error);
  }

  // Attaches disk 9 of `size` with two formatted volumes of 1 GiB, at 17 MiB and at 3 GiB.
  std::vector<std::string> TwoVolumes(uint64_t size = 8 * kGiB) {
    machine::simulator::Disk disk;
    disk.size_bytes = size;
    disk.style = machine::simulator::PartitionStyle::kGpt;
    std::vector<std::string> ids;
    for (uint32_t number : {1u, 2u}) {
      machine::simulator::DiskPartition& partition = disk.partitions.emplace_back();
      partition.number = number;
      partition.offset_bytes = number == 1 ? 17 * kMiB : 3 * kGiB;
      partition.size_bytes = kGiB;
      ids.push_back(
          absl::StrCat(R"(\\?\Volume{00000000-0000-0000-0000-00000000000)", number, R"(}\)"));
      partition.volume = machine::simulator::Volume{*VolumeId::Parse(ids.back()), "NTFS", 0, {}};
    }
    EXPECT_TRUE(node_->AttachDisk(disk, 9).ok());
    return ids;
  }
};

}  // namespace csi_proxy::groups

// Counts the WMI calls of each rpc, because a WMI call takes milliseconds.
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

class RoundTripsTest : public HandlerTest {
 protected:
  int64_t Count(const std::function<absl::Status()>& call) {
    const int64_t before = node_->CountCalls().wmi_calls;
    const absl::Status status = call();
    EXPECT_TRUE(status.ok()) << status;
    return node_->CountCalls().wmi_calls - before;
  }
};

TEST_F(RoundTripsTest, AreFew) {
  const std::string share = R"(\\fileserver.example\data)";
  const smb::NewSmbGlobalMappingRequest mapping{
      .remote_path = share, .username = R"(EXAMPLE\storage)", .password = "correct horse"};
  std::string volume;
  struct Row {
    const char* rpc;
    // The most round trips that are allowed.
    int64_t target;
    // The round trips of csi-proxy v1.3.0 for a disk with two partitions, counted in its pkg/os and
    // pkg/cim. It opens a connection for each of them.
    int go;
    std::function<absl::Status()> call;
  };
  const Row rows[] = {
      {"PartitionDisk", 4, 9,
       [&] { return disk_->PartitionDisk(context_, {.disk_number = 1}).status(); }},
      {"ListVolumesOnDisk", 0, 3,
       [&] {
         const auto volumes = volume_->ListVolumesOnDisk(context_, {.disk_number = 1});
         if (volumes.ok() && !volumes->volume_ids.empty()) volume = volumes->volume_ids[0];
         return volumes.status();
       }},
      {"IsVolumeFormatted", 0, 1,
       [&] { return volume_->IsVolumeFormatted(context_, {.volume_id = volume}).status(); }},
      {"FormatVolume", 3, 2,
       [&] { return volume_->FormatVolume(context_, {.volume_id = volume}).status(); }},
      {"GetVolumeStats", 0, 1,
       [&] { return volume_->GetVolumeStats(context_, {.volume_id = volume}).status(); }},
      {"GetDiskNumberFromVolumeID", 0, 2,
       [&] {
         return volume_->GetDiskNumberFromVolumeID(context_, {.volume_id = volume}).status();
       }},
      {"MountVolume", 1, 0,
       [&] {
         return volume_->MountVolume(context_, {.volume_id = volume, .target_path = Below("m")})
             .status();
       }},
      {"GetVolumeIDFromTargetPath", 0, 0,
       [&] {
         return volume_->GetVolumeIDFromTargetPath(context_, {.target_path = Below("m")}).status();
       }},
      {"GetClosestVolumeIDFromTargetPath", 0, 2,
       [&] {
         return volume_->GetClosestVolumeIDFromTargetPath(context_, {.target_path = Below("")})
             .status();
       }},
      {"WriteVolumeCache", 0, 2,
       [&] { return volume_->WriteVolumeCache(context_, {.volume_id = volume}).status(); }},
      {"UnmountVolume", 0, 2,
       [&] {
         return volume_->UnmountVolume(context_, {.volume_id = volume, .target_path = Below("m")})
             .status();
       }},
      {"ResizeVolume", 3, 5,
       [&] {
         return volume_->ResizeVolume(context_, {.volume_id = volume, .size_bytes = 11LL << 30})
             .status();
       }},
      {"ResizeVolume to the maximum", 3, 6,
       [&] {
         return volume_->ResizeVolume(context_, {.volume_id = volume, .size_bytes = 0}).status();
       }},
      {"ListDiskIDs", 1, 1, [&] { return disk_->ListDiskIDs(context_, {}).status(); }},
      {"ListDiskLocations", 1, 1, [&] { return disk_->ListDiskLocations(context_, {}).status(); }},
      {"GetDiskStats", 0, 1,
       [&] { return disk_->GetDiskStats(context_, {.disk_number = 1}).status(); }},
      {"GetDiskState", 0, 1,
       [&] { return disk_->GetDiskState(context_, {.disk_number = 1}).status(); }},
      {"SetDiskState", 2, 2,
       [&] {
         return disk_->SetDiskState(context_, {.disk_number = 1, .is_online = false}).status();
       }},
      {"SetDiskState, online", 2, 2,
       [&] {
         return disk_->SetDiskState(context_, {.disk_number = 1, .is_online = true}).status();
       }},
      {"PartitionDisk of a partitioned disk", 2, 3,
       [&] { return disk_->PartitionDisk(context_, {.disk_number = 1}).status(); }},
      {"NewSmbGlobalMapping", 2, 2,
       [&] { return smb_->NewSmbGlobalMapping(context_, mapping).status(); }},
      {"NewSmbGlobalMapping, broken", 3, 4,
       [&] {
         EXPECT_TRUE(node_->BreakMapping(share).ok());
         return smb_->NewSmbGlobalMapping(context_, mapping).status();
       }},
      {"RemoveSmbGlobalMapping", 2, 2,
       [&] { return smb_->RemoveSmbGlobalMapping(context_, {.remote_path = share}).status(); }},
      // The Go release has no such rpcs; its drivers make the calls above instead.
      {"StageShare", 2, 2,
       [&] {
         return storage_
             ->StageShare(context_, {.remote_path = share,
                                     .target_path = Below("s"),
                                     .username = R"(EXAMPLE\storage)",
                                     .password = "correct horse"})
             .status();
       }},
      {"UnstageShare", 3, 2,
       [&] { return storage_->UnstageShare(context_, {.target_path = Below("s")}).status(); }},
      {"GetService", 0, 1,
       [&] { return system_->GetService(context_, {.name = "MSiSCSI"}).status(); }},
  };
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  // The extra cost of an outdated cache is not measured here.
  node_->core()->Change([](machine::simulator::NodeState& state) {
    state.behaviour.volume_cache_delay = absl::ZeroDuration();
  });
  std::printf("%-34s %5s %7s %10s\n", "rpc", "here", "at most", "Go v1.3.0");
  for (const Row& row : rows) {
    if (absl::StrContains(row.rpc, "ResizeVolume")) {
      // Leave room to grow.
      ASSERT_TRUE(node_->GrowDisk(1, static_cast<uint64_t>(row.go) * 4 << 30).ok());
      ASSERT_TRUE(disk_->Rescan(context_, {}).ok());
    }
    const int64_t here = Count(row.call);
    std::printf("%-34s %5d %7d %10d\n", row.rpc, static_cast<int>(here),
                static_cast<int>(row.target), row.go);
    EXPECT_LE(here, row.target) << row.rpc;
  }
}

}  // namespace
}  // namespace csi_proxy::groups

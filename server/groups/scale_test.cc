// Counts the calls of Windows on a small and a large node: a look-up makes the same number on both,
// a listing a fixed number per disk.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

using machine::simulator::CallCounts;

std::string VolumeOf(int n) {
  return absl::StrFormat(R"(\\?\Volume{00000000-0000-0000-0000-%012d}\)", n);
}
std::string ShareOf(int n) { return absl::StrCat(R"(\\files\share)", n); }

// Returns a node with C:, `size` disks with a mounted and linked volume each, and `size` mappings.
std::string Scenario(int size) {
  const auto quoted = [](const std::string& text) {
    return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}}), "\"");
  };
  std::string system, disks, shares, mappings;
  for (int n = 1; n <= size; ++n) {
    const std::string stage = absl::StrCat(R"(var\lib\kubelet\plugins\)", n);
    absl::StrAppend(&system, "file { path: ", quoted(stage),
                    " mounted_volume_id: ", quoted(VolumeOf(n)),
                    " } file { path: ", quoted(absl::StrCat(R"(var\lib\kubelet\pods\)", n)),
                    " kind: LINK target: ", quoted("C:\\" + stage), " }");
    absl::StrAppend(&disks, "disk { number: ", n, " size_bytes: 1073741824 style: GPT location: ",
                    "\"Integrated : Adapter 0 : Port 0 : Target 0 : LUN ", n, "\"",
                    " partition { type: MICROSOFT_RESERVED size_bytes: 16777216 }",
                    " partition { size_bytes: 536870912 volume { file_system: \"NTFS\" id: ",
                    quoted(VolumeOf(n)), " } } }");
    absl::StrAppend(&shares, "share { name: \"share", n, "\" }");
    absl::StrAppend(&mappings, "smb_mapping { username: \"u\" remote_path: ", quoted(ShareOf(n)),
                    " }");
  }
  return absl::StrCat(
      "disk { number: 0 size_bytes: 68719476736 style: GPT partition { size_bytes: 68000000000",
      " volume { file_system: \"NTFS\" drive_letter: \"C\" ", system, " } } }", disks,
      "smb_server { name: \"files\" user { name: \"u\" password: \"p\" }", shares,
      " share { name: \"new\" } }", mappings);
}

class ScaledNode : public HandlerTest {
 public:
  explicit ScaledNode(int size) : HandlerTest(Files::kSimulated, Scenario(size)), size_(size) {}

  absl::Status Partition() { return disk_->PartitionDisk(context_, {.disk_number = 2}).status(); }
  absl::Status SetState(bool online) {
    return disk_->SetDiskState(context_, {.disk_number = 2, .is_online = online}).status();
  }
  absl::Status Online() { return SetState(true); }
  absl::Status ListDiskLocations() { return disk_->ListDiskLocations(context_, {}).status(); }
  absl::Status ListDiskIDs() { return disk_->ListDiskIDs(context_, {}).status(); }
  absl::Status ListDisks() { return storage_->ListDisks(context_, {}).status(); }
  absl::Status GetVolumeHealth() {
    return storage_->GetVolumeHealth(context_, {.volume_id = VolumeOf(2)}).status();
  }
  absl::Status ListVolumeHealth() {
    storage::ListVolumeHealthRequest all;
    for (int n = 1; n <= size_; ++n) all.volume_ids.push_back(VolumeOf(n));
    return storage_->ListVolumeHealth(context_, all).status();
  }
  absl::Status ReadContents() {
    return storage_->ListDisks(context_, {.read_content = true}).status();
  }
  absl::Status ListVolumesOnDisk() {
    return volume_->ListVolumesOnDisk(context_, {.disk_number = 2}).status();
  }
  absl::Status GetDiskStats() { return disk_->GetDiskStats(context_, {.disk_number = 2}).status(); }
  absl::Status GetDiskState() { return disk_->GetDiskState(context_, {.disk_number = 2}).status(); }
  absl::Status PathExists() {
    const auto answer = filesystem_->PathExists(context_, {.path = Below(R"(pods\2)")});
    EXPECT_TRUE(answer.ok() && answer->exists);
    return answer.status();
  }
  absl::Status IsSymlink() {
    const auto answer = filesystem_->IsSymlink(context_, {.path = Below(R"(pods\2)")});
    EXPECT_TRUE(answer.ok() && answer->is_symlink);
    return answer.status();
  }
  absl::Status MakeDirectory() { return Mkdir(Below("new")); }
  absl::Status RemoveDirectory() { return Rmdir(Below("new")); }
  absl::Status MakeLink() { return Link(Below(R"(plugins\2)"), Below("link")); }
  absl::Status RemoveLink() { return Rmdir(Below("link")); }
  absl::Status GetVolumeStats() {
    return volume_->GetVolumeStats(context_, {.volume_id = VolumeOf(2)}).status();
  }
  absl::Status GetPathStats() {
    return storage_->GetPathStats(context_, {.path = Below(R"(pods\2)")}).status();
  }
  absl::Status ListMounts() {
    const auto answer = storage_->ListMounts(context_, {});
    EXPECT_TRUE(answer.ok() && !answer->incomplete);
    return answer.status();
  }
  absl::Status ListSmbMappings() { return storage_->ListSmbMappings(context_, {}).status(); }
  absl::Status GetVolumeIDFromTargetPath() {
    const auto answer =
        volume_->GetVolumeIDFromTargetPath(context_, {.target_path = Below(R"(pods\2)")});
    EXPECT_TRUE(answer.ok() && answer->volume_id == VolumeOf(2));
    return answer.status();
  }
  absl::Status GetDiskNumberFromVolumeID() {
    return volume_->GetDiskNumberFromVolumeID(context_, {.volume_id = VolumeOf(2)}).status();
  }
  absl::Status IsVolumeFormatted() {
    return volume_->IsVolumeFormatted(context_, {.volume_id = VolumeOf(2)}).status();
  }
  absl::Status UnmountVolume() {
    return volume_
        ->UnmountVolume(context_, {.volume_id = VolumeOf(2), .target_path = Below(R"(plugins\2)")})
        .status();
  }
  absl::Status FormatVolume() {
    return volume_->FormatVolume(context_, {.volume_id = VolumeOf(2)}).status();
  }
  absl::Status MountVolume() {
    return volume_
        ->MountVolume(context_, {.volume_id = VolumeOf(2), .target_path = Below(R"(plugins\2)")})
        .status();
  }
  absl::Status ResizeVolume() {
    return volume_->ResizeVolume(context_, {.volume_id = VolumeOf(2), .size_bytes = 0}).status();
  }
  absl::Status WriteVolumeCache() {
    return volume_->WriteVolumeCache(context_, {.volume_id = VolumeOf(2)}).status();
  }
  absl::Status Map(const std::string& share) {
    return smb_
        ->NewSmbGlobalMapping(context_, {.remote_path = share, .username = "u", .password = "p"})
        .status();
  }
  absl::Status MapAgain() { return Map(ShareOf(2)); }
  absl::Status MapNew() { return Map(R"(\\files\new)"); }
  absl::Status Unmap() {
    return smb_->RemoveSmbGlobalMapping(context_, {.remote_path = R"(\\files\new)"}).status();
  }

  CallCounts CountsOf(absl::Status (ScaledNode::*call)(), const char* rpc) {
    const CallCounts before = node_->CountCalls();
    const absl::Status status = (this->*call)();
    EXPECT_TRUE(status.ok()) << rpc << ": " << status;
    const CallCounts after = node_->CountCalls();
    return {after.win32_calls - before.win32_calls, after.wmi_calls - before.wmi_calls,
            after.wmi_objects - before.wmi_objects};
  }

  void TestBody() override {}

  const int size_;
};

TEST(ScaleTest, LookUpsAskTheSameOfAnyNodeAndListingsSoMuchForEachDisk) {
  constexpr int kSmall = 10, kLarge = 100;
  ScaledNode small(kSmall), large(kLarge);
  enum Cost { kFlat, kLinear };
  struct Row {
    const char* rpc;
    // Calls that search the volumes of a disk ask every volume of the node for its location.
    Cost win32, wmi_objects;
    absl::Status (ScaledNode::*call)();
  };
  const Row rows[] = {
      {"ListDiskLocations", kFlat, kLinear, &ScaledNode::ListDiskLocations},
      {"ListDiskIDs", kLinear, kLinear, &ScaledNode::ListDiskIDs},
      {"ListDisks", kLinear, kLinear, &ScaledNode::ListDisks},
      {"ListDisks that reads them", kLinear, kLinear, &ScaledNode::ReadContents},
      {"GetVolumeHealth", kFlat, kFlat, &ScaledNode::GetVolumeHealth},
      {"ListVolumeHealth of all", kLinear, kLinear, &ScaledNode::ListVolumeHealth},
      {"ListVolumesOnDisk", kLinear, kFlat, &ScaledNode::ListVolumesOnDisk},
      {"PartitionDisk of a partitioned disk", kLinear, kFlat, &ScaledNode::Partition},
      {"GetDiskStats", kFlat, kFlat, &ScaledNode::GetDiskStats},
      {"GetDiskState", kFlat, kFlat, &ScaledNode::GetDiskState},
      {"PathExists", kFlat, kFlat, &ScaledNode::PathExists},
      {"IsSymlink", kFlat, kFlat, &ScaledNode::IsSymlink},
      {"Mkdir", kFlat, kFlat, &ScaledNode::MakeDirectory},
      {"Rmdir", kFlat, kFlat, &ScaledNode::RemoveDirectory},
      {"CreateSymlink", kFlat, kFlat, &ScaledNode::MakeLink},
      {"Rmdir of a link", kFlat, kFlat, &ScaledNode::RemoveLink},
      {"GetVolumeStats", kFlat, kFlat, &ScaledNode::GetVolumeStats},
      {"GetPathStats", kFlat, kFlat, &ScaledNode::GetPathStats},
      {"ListMounts", kLinear, kFlat, &ScaledNode::ListMounts},
      {"ListSmbMappings", kLinear, kLinear, &ScaledNode::ListSmbMappings},
      {"GetVolumeIDFromTargetPath", kFlat, kFlat, &ScaledNode::GetVolumeIDFromTargetPath},
      {"GetDiskNumberFromVolumeID", kFlat, kFlat, &ScaledNode::GetDiskNumberFromVolumeID},
      {"IsVolumeFormatted", kFlat, kFlat, &ScaledNode::IsVolumeFormatted},
      {"UnmountVolume", kFlat, kFlat, &ScaledNode::UnmountVolume},
      {"FormatVolume", kFlat, kFlat, &ScaledNode::FormatVolume},
      {"MountVolume", kFlat, kFlat, &ScaledNode::MountVolume},
      {"ResizeVolume", kFlat, kFlat, &ScaledNode::ResizeVolume},
      {"WriteVolumeCache", kFlat, kFlat, &ScaledNode::WriteVolumeCache},
      {"NewSmbGlobalMapping of a mapped share", kFlat, kFlat, &ScaledNode::MapAgain},
      {"NewSmbGlobalMapping", kFlat, kFlat, &ScaledNode::MapNew},
      // The call logs the links to the share, so it reads all links.
      {"RemoveSmbGlobalMapping", kLinear, kFlat, &ScaledNode::Unmap},
  };
  std::printf("%-38s %20s %20s %20s\n", "on 10 and on 100 disks", "Win32 calls", "WMI calls",
              "WMI objects");
  for (const Row& row : rows) {
    const CallCounts few = small.CountsOf(row.call, row.rpc);
    const CallCounts many = large.CountsOf(row.call, row.rpc);
    const auto both = [](int64_t a, int64_t b) { return absl::StrCat(a, ", ", b); };
    std::printf("%-38s %20s %20s %20s\n", row.rpc, both(few.win32_calls, many.win32_calls).c_str(),
                both(few.wmi_calls, many.wmi_calls).c_str(),
                both(few.wmi_objects, many.wmi_objects).c_str());
    const auto check = [&](Cost cost, int64_t a, int64_t b, const char* what) {
      if (cost == kFlat) {
        EXPECT_EQ(a, b) << row.rpc << ": " << what;
      } else {
        EXPECT_GT(b, a) << row.rpc << ": " << what;
        EXPECT_LE(b, a * (kLarge / kSmall)) << row.rpc << ": " << what;
      }
    };
    check(row.win32, few.win32_calls, many.win32_calls, "Win32 calls");
    check(kFlat, few.wmi_calls, many.wmi_calls, "WMI calls");
    check(row.wmi_objects, few.wmi_objects, many.wmi_objects, "WMI objects");
  }
}

// SetDiskState lists the node's volumes once while it waits for the volumes of the disk.
TEST(ScaleTest, ADiskThatComesOnlineLooksOnceForItsVolumes) {
  for (const int size : {10, 100}) {
    ScaledNode node(size);
    ASSERT_TRUE(node.SetState(false).ok());
    const CallCounts counts = node.CountsOf(&ScaledNode::Online, "SetDiskState");
    // Each volume is queried once for its location, and the disk a few times.
    EXPECT_LE(counts.win32_calls, size + 12);
    EXPECT_LE(counts.wmi_calls, 2);
  }
}

}  // namespace
}  // namespace csi_proxy::groups

// Counts the calls of Windows on a small and a large node: a look-up makes the same number on both,
// a listing a fixed number per disk. WMI is asked a few times at most, because such a call takes
// milliseconds.
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

// Returns a node with C:, `size` disks with a mounted and linked volume each, a raw disk behind
// them, and `size` mappings.
std::string Scenario(int size) {
  const auto quoted = [](const std::string& text) {
    return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}}), "\"");
  };
  std::string system, shares, mappings;
  std::string disks = absl::StrCat("disk { number: ", size + 1, " size_bytes: 1073741824 }");
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
      " share { name: \"new\" } } service { name: \"S\" }", mappings);
}

class ScaledNode : public HandlerTest {
 public:
  using HandlerTest::Below, HandlerTest::Exists, HandlerTest::Link, HandlerTest::Mkdir,
      HandlerTest::Rmdir;
  using HandlerTest::context_, HandlerTest::node_;
  using HandlerTest::disk_, HandlerTest::filesystem_, HandlerTest::smb_, HandlerTest::storage_,
      HandlerTest::system_, HandlerTest::volume_;

  explicit ScaledNode(int size) : HandlerTest(Files::kSimulated, Scenario(size)), size(size) {}

  absl::Status Partition(int number) {
    return disk_->PartitionDisk(context_, {.disk_number = static_cast<uint32_t>(number)}).status();
  }
  absl::Status SetState(bool online) {
    return disk_->SetDiskState(context_, {.disk_number = 2, .is_online = online}).status();
  }
  absl::Status SetReadOnly(bool read_only) {
    return storage_->SetDiskReadOnly(context_, {.disk_number = 2, .read_only = read_only}).status();
  }
  absl::Status ListVolumeHealth() {
    storage::ListVolumeHealthRequest all;
    for (int n = 1; n <= size; ++n) all.volume_ids.push_back(VolumeOf(n));
    return storage_->ListVolumeHealth(context_, all).status();
  }
  absl::Status Grow() {
    EXPECT_TRUE(node_->GrowDisk(2, (grown_ += uint64_t{1} << 30)).ok());
    return disk_->Rescan(context_, {}).status();
  }
  absl::Status Resize(int64_t bytes) {
    return volume_->ResizeVolume(context_, {.volume_id = VolumeOf(2), .size_bytes = bytes})
        .status();
  }
  absl::Status Map(const std::string& share) {
    return smb_
        ->NewSmbGlobalMapping(context_, {.remote_path = share, .username = "u", .password = "p"})
        .status();
  }

  CallCounts CountsOf(const std::function<absl::Status(ScaledNode&)>& call, const char* rpc) {
    const CallCounts before = node_->CountCalls();
    const absl::Status status = call(*this);
    EXPECT_TRUE(status.ok()) << rpc << ": " << status;
    const CallCounts after = node_->CountCalls();
    return {after.win32_calls - before.win32_calls, after.wmi_calls - before.wmi_calls,
            after.wmi_objects - before.wmi_objects};
  }

  void TestBody() override {}

  const int size;

 private:
  uint64_t grown_ = uint64_t{1} << 30;
};

TEST(ScaleTest, LookUpsMakeAFixedNumberOfCallsAndListingsAFixedNumberPerDisk) {
  using N = ScaledNode;
  constexpr int kSmall = 10, kLarge = 100;
  static constexpr char kNew[] = R"(\\files\new)";
  N small(kSmall), large(kLarge);
  enum Cost { kFlat, kLinear };
  struct Row {
    const char* rpc;
    // Calls that search the volumes of a disk ask every volume of the node for its location.
    Cost win32, wmi_objects;
    // The most calls of WMI that are allowed; and those of csi-proxy v1.3.0 for a disk with two
    // partitions, counted in its pkg/os and pkg/cim, or -1 if it has no such rpc. It opens a
    // connection for each.
    int most_wmi_calls, go;
    std::function<absl::Status(N&)> call;
    // Prepares the call, uncounted.
    std::function<absl::Status(N&)> before = nullptr;
  };
  const auto grow = [](N& n) { return n.Grow(); };
  const Row rows[] = {
      {"ListDiskLocations", kFlat, kLinear, 1, 1,
       [](N& n) { return n.disk_->ListDiskLocations(n.context_, {}).status(); }},
      {"ListDiskIDs", kLinear, kLinear, 1, 1,
       [](N& n) { return n.disk_->ListDiskIDs(n.context_, {}).status(); }},
      {"ListDisks", kLinear, kLinear, 1, -1,
       [](N& n) { return n.storage_->ListDisks(n.context_, {}).status(); }},
      {"ListDisks that reads them", kLinear, kLinear, 2, -1,
       [](N& n) { return n.storage_->ListDisks(n.context_, {.read_content = true}).status(); }},
      {"GetVolumeHealth", kFlat, kFlat, 2, -1,
       [](N& n) {
         return n.storage_->GetVolumeHealth(n.context_, {.volume_id = VolumeOf(2)}).status();
       }},
      {"ListVolumeHealth of all", kLinear, kLinear, 2, -1,
       [](N& n) { return n.ListVolumeHealth(); }},
      {"ListVolumesOnDisk", kLinear, kFlat, 0, 3,
       [](N& n) { return n.volume_->ListVolumesOnDisk(n.context_, {.disk_number = 2}).status(); }},
      {"PartitionDisk", kLinear, kFlat, 4, 9, [](N& n) { return n.Partition(n.size + 1); }},
      {"PartitionDisk of a partitioned disk", kLinear, kFlat, 2, 3,
       [](N& n) { return n.Partition(2); }},
      {"GetDiskStats", kFlat, kFlat, 0, 1,
       [](N& n) { return n.disk_->GetDiskStats(n.context_, {.disk_number = 2}).status(); }},
      {"GetDiskState", kFlat, kFlat, 0, 1,
       [](N& n) { return n.disk_->GetDiskState(n.context_, {.disk_number = 2}).status(); }},
      {"PathExists", kFlat, kFlat, 0, 0,
       [](N& n) {
         EXPECT_TRUE(n.Exists(N::Below(R"(pods\2)")));
         return absl::OkStatus();
       }},
      {"IsSymlink", kFlat, kFlat, 0, 0,
       [](N& n) {
         const auto answer = n.filesystem_->IsSymlink(n.context_, {.path = N::Below(R"(pods\2)")});
         EXPECT_TRUE(answer.ok() && answer->is_symlink);
         return answer.status();
       }},
      {"Mkdir", kFlat, kFlat, 0, 0, [](N& n) { return n.Mkdir(N::Below("new")); }},
      {"Rmdir", kFlat, kFlat, 0, 0, [](N& n) { return n.Rmdir(N::Below("new")); }},
      {"CreateSymlink", kFlat, kFlat, 0, 0,
       [](N& n) { return n.Link(N::Below(R"(plugins\2)"), N::Below("link")); }},
      {"Rmdir of a link", kFlat, kFlat, 0, 0, [](N& n) { return n.Rmdir(N::Below("link")); }},
      {"GetVolumeStats", kFlat, kFlat, 0, 1,
       [](N& n) {
         return n.volume_->GetVolumeStats(n.context_, {.volume_id = VolumeOf(2)}).status();
       }},
      {"GetPathStats", kFlat, kFlat, 0, -1,
       [](N& n) {
         return n.storage_->GetPathStats(n.context_, {.path = N::Below(R"(pods\2)")}).status();
       }},
      {"ListMounts", kLinear, kFlat, 0, -1,
       [](N& n) {
         const auto answer = n.storage_->ListMounts(n.context_, {});
         EXPECT_TRUE(answer.ok() && !answer->incomplete);
         return answer.status();
       }},
      {"ListSmbMappings", kLinear, kLinear, 1, -1,
       [](N& n) { return n.storage_->ListSmbMappings(n.context_, {}).status(); }},
      {"GetVolumeIDFromTargetPath", kFlat, kFlat, 0, 0,
       [](N& n) {
         const auto answer = n.volume_->GetVolumeIDFromTargetPath(
             n.context_, {.target_path = N::Below(R"(pods\2)")});
         EXPECT_TRUE(answer.ok() && answer->volume_id == VolumeOf(2));
         return answer.status();
       }},
      {"GetClosestVolumeIDFromTargetPath", kFlat, kFlat, 0, 2,
       [](N& n) {
         return n.volume_
             ->GetClosestVolumeIDFromTargetPath(n.context_, {.target_path = N::Below(R"(pods\2)")})
             .status();
       }},
      {"GetDiskNumberFromVolumeID", kFlat, kFlat, 0, 2,
       [](N& n) {
         return n.volume_->GetDiskNumberFromVolumeID(n.context_, {.volume_id = VolumeOf(2)})
             .status();
       }},
      {"IsVolumeFormatted", kFlat, kFlat, 0, 1,
       [](N& n) {
         return n.volume_->IsVolumeFormatted(n.context_, {.volume_id = VolumeOf(2)}).status();
       }},
      {"UnmountVolume", kFlat, kFlat, 0, 2,
       [](N& n) {
         return n.volume_
             ->UnmountVolume(n.context_,
                             {.volume_id = VolumeOf(2), .target_path = N::Below(R"(plugins\2)")})
             .status();
       }},
      {"FormatVolume", kFlat, kFlat, 3, 2,
       [](N& n) {
         return n.volume_->FormatVolume(n.context_, {.volume_id = VolumeOf(2)}).status();
       }},
      {"FormatVolume with overwrite", kLinear, kFlat, 3, -1,
       [](N& n) {
         return n.storage_->FormatVolume(n.context_, {.volume_id = VolumeOf(2), .overwrite = true})
             .status();
       }},
      {"SetDiskReadOnly", kLinear, kFlat, 2, -1, [](N& n) { return n.SetReadOnly(true); }},
      {"SetDiskReadOnly, writable", kLinear, kFlat, 0, -1,
       [](N& n) { return n.SetReadOnly(false); }},
      {"MountVolume", kFlat, kFlat, 1, 0,
       [](N& n) {
         return n.volume_
             ->MountVolume(n.context_,
                           {.volume_id = VolumeOf(2), .target_path = N::Below(R"(plugins\2)")})
             .status();
       }},
      {"ResizeVolume", kFlat, kFlat, 3, 5, [](N& n) { return n.Resize(int64_t{3} << 29); }, grow},
      {"ResizeVolume to the maximum", kFlat, kFlat, 3, 6, [](N& n) { return n.Resize(0); }, grow},
      {"WriteVolumeCache", kFlat, kFlat, 0, 2,
       [](N& n) {
         return n.volume_->WriteVolumeCache(n.context_, {.volume_id = VolumeOf(2)}).status();
       }},
      {"SetDiskState", kFlat, kFlat, 2, 2, [](N& n) { return n.SetState(false); }},
      {"SetDiskState, online", kLinear, kFlat, 2, 2, [](N& n) { return n.SetState(true); }},
      {"NewSmbGlobalMapping of a mapped share", kFlat, kFlat, 1, 1,
       [](N& n) { return n.Map(ShareOf(2)); }},
      {"NewSmbGlobalMapping", kFlat, kFlat, 2, 2, [](N& n) { return n.Map(kNew); }},
      {"NewSmbGlobalMapping, broken", kFlat, kFlat, 3, 4, [](N& n) { return n.Map(kNew); },
       [](N& n) { return n.node_->BreakMapping(kNew); }},
      // The call logs the links to the share, so it reads all links.
      {"RemoveSmbGlobalMapping", kLinear, kFlat, 2, 2,
       [](N& n) {
         return n.smb_->RemoveSmbGlobalMapping(n.context_, {.remote_path = kNew}).status();
       }},
      {"StageShare", kFlat, kFlat, 2, -1,
       [](N& n) {
         return n.storage_
             ->StageShare(n.context_, {.remote_path = kNew,
                                       .target_path = N::Below("s"),
                                       .username = "u",
                                       .password = "p"})
             .status();
       }},
      {"UnstageShare", kLinear, kFlat, 3, -1,
       [](N& n) {
         return n.storage_->UnstageShare(n.context_, {.target_path = N::Below("s")}).status();
       }},
      {"GetService", kFlat, kFlat, 0, 1,
       [](N& n) { return n.system_->GetService(n.context_, {.name = "S"}).status(); }},
  };
  std::printf("%-38s %16s %12s %10s %16s\n", "on 10 and on 100 disks", "Win32 calls", "WMI calls",
              "Go v1.3.0", "WMI objects");
  for (const Row& row : rows) {
    for (N* const node : {&small, &large}) {
      if (row.before != nullptr) {
        EXPECT_TRUE(row.before(*node).ok()) << row.rpc;
      }
    }
    const CallCounts few = small.CountsOf(row.call, row.rpc);
    const CallCounts many = large.CountsOf(row.call, row.rpc);
    const auto both = [](int64_t a, int64_t b) { return absl::StrCat(a, ", ", b); };
    std::printf("%-38s %16s %12d %10d %16s\n", row.rpc,
                both(few.win32_calls, many.win32_calls).c_str(), static_cast<int>(few.wmi_calls),
                row.go, both(few.wmi_objects, many.wmi_objects).c_str());
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
    EXPECT_LE(few.wmi_calls, row.most_wmi_calls) << row.rpc;
  }
}

// SetDiskState lists the node's volumes once while it waits for the volumes of the disk.
TEST(ScaleTest, SetDiskStateListsTheNodesVolumesOnce) {
  for (const int size : {10, 100}) {
    ScaledNode node(size);
    ASSERT_TRUE(node.SetState(false).ok());
    const CallCounts counts =
        node.CountsOf([](ScaledNode& n) { return n.SetState(true); }, "SetDiskState");
    // Each volume is queried once for its location, and the disk a few times.
    EXPECT_LE(counts.win32_calls, size + 12);
    EXPECT_LE(counts.wmi_calls, 2);
  }
}

}  // namespace
}  // namespace csi_proxy::groups

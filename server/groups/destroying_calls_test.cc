// A call may destroy data only on request. For each of kStates, makes each call that partitions,
// formats or changes a disk.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/groups/storage/stage_testing.h"
#include "server/groups/testing/random_calls.h"
#include "server/simulator/storage.h"

namespace csi_proxy::storage {
namespace {

using groups::kGiB;
using groups::kMiB;
using machine::simulator::DiskBytes;
using machine::simulator::DiskPartition;
using machine::simulator::PartitionStyle;
using machine::simulator::PartitionType;

constexpr uint64_t kDisk = 8 * kGiB;
constexpr uint64_t kData = 17 * kMiB;
constexpr uint64_t kDataEnd = kDisk - kMiB;
// A place in the middle of the volume from which the service reads a sample.
constexpr uint64_t kMiddle = kData + (kDataEnd - kData) / 256 * 128 / (kMiB / 64) * (kMiB / 64);
constexpr char kExt4[] = "\x53\xEF";

// The state of disk 1 before each call, and the expected effect of each call.
struct State {
  const char* name;
  // One letter for each of Calls(): `.` succeeds without a change, `x` is refused without a change,
  // `w` writes to the disk.
  const char* expected;
  PartitionStyle style = PartitionStyle::kRaw;
  std::vector<DiskBytes> foreign = {};
  const char* file_system = "";
  PartitionType type = PartitionType::kBasic;
  // A call of the machine that always fails, and its error.
  std::pair<const char*, uint32_t> fault = {"", 0};
  // The sign that the volume was in use before, although it reads as blank.
  enum Sign { kNone, kMounted, kUnmounted, kRemoved, kStaleEntry, kReported } sign = kNone;
};

const State kStates[] = {
    {"raw, blank", "wwwxxxxx..", PartitionStyle::kRaw},
    {"raw, ext4", "wxxxxxxx..", PartitionStyle::kRaw, {{0x438, kExt4}}},
    {"raw, data at the end", "wxxxxxxx..", PartitionStyle::kRaw, {{kDisk - 512, "x"}}},
    {.name = "raw, sectors that cannot be read",
     .expected = "wxxxxxxx..",
     .fault = {"win32.Read", 1117}},
    {"blank volume", "..wwwww...", PartitionStyle::kGpt},
    {"blank volume on MBR", "..wwwww...", PartitionStyle::kMbr},
    {"BitLocker", "..xxwwx...", PartitionStyle::kGpt, {{kData, "\353X\220-FVE-FS-"}}},
    {"old data at the end", "..xxwwx...", PartitionStyle::kGpt, {{kDataEnd - 512, "x"}}},
    {.name = "volume with sectors that cannot be read",
     .expected = "..xxwwx...",
     .style = PartitionStyle::kGpt,
     .fault = {"win32.Read", 23}},
    {"NTFS", "...xwww...", PartitionStyle::kGpt, {}, "NTFS"},
    {.name = "NTFS that Windows does not recognise",
     .expected = "..xxwwx...",
     .style = PartitionStyle::kGpt,
     .file_system = "NTFS",
     .fault = {"win32.GetFileSystem", 1005}},
    {.name = "NTFS that Windows cannot read",
     .expected = "..xxxxx...",
     .style = PartitionStyle::kGpt,
     .file_system = "NTFS",
     .fault = {"win32.GetFileSystem", 1392}},
    {"data in the middle of a raw disk", "wxxxxxxx..", PartitionStyle::kRaw, {{kDisk / 2, "x"}}},
    {"data in the middle of a volume", "..xxwwx...", PartitionStyle::kGpt, {{kMiddle, "x"}}},
    {.name = "blank volume at its staging folder",
     .expected = "..xxxxx...",
     .style = PartitionStyle::kGpt,
     .sign = State::kMounted},
    {.name = "blank volume that was just unmounted",
     .expected = "..xxwxx...",
     .style = PartitionStyle::kGpt,
     .sign = State::kUnmounted},
    {.name = "blank volume whose mounted folder was removed with its parent",
     .expected = "..xxwxx...",
     .style = PartitionStyle::kGpt,
     .sign = State::kRemoved},
    {.name = "blank volume that was mounted once",
     .expected = "..xxwxx...",
     .style = PartitionStyle::kGpt,
     .sign = State::kStaleEntry},
    {.name = "blank volume that had NTFS a moment ago",
     .expected = "..xxwxx...",
     .style = PartitionStyle::kGpt,
     .sign = State::kReported},
    {"a partition of Linux",
     "xxxxxxxx..",
     PartitionStyle::kGpt,
     {{kData + 0x438, kExt4}},
     "",
     PartitionType::kLinux},
};

class DestroyingCallsTest : public StageTest {
 protected:
  void Prepare(const State& state) {
    node_->Reset();
    // A new id for each state, because the host remembers volumes that had a file system.
    volume_id_ = absl::StrFormat(R"(\\?\Volume{11111111-c511-4c0d-9000-%012d}\)", ++volumes_);
    deps_.keep_foreign_data = false;
    Remake();
    ChangeDisk(1, [&](Disk& disk) {
      disk.size_bytes = kDisk;
      disk.style = state.style;
      disk.foreign = state.foreign;
      if (state.style == PartitionStyle::kRaw) return;
      DiskPartition& data = disk.partitions.emplace_back();
      data.number = 1;
      data.type = state.type;
      data.offset_bytes = kData;
      data.size_bytes = kDataEnd - kData;
      if (state.type != PartitionType::kBasic) return;
      data.volume =
          machine::simulator::Volume{*VolumeId::Parse(volume_id_), state.file_system, 0, {}};
      if (*state.file_system == 0) return;
      ASSERT_TRUE(data.volume->tree
                      .Add(machine::simulator::Tree::kRoot,
                           machine::simulator::Tree::File("kept", 1, false))
                      .ok());
    });
    if (state.sign != State::kNone) Show(state.sign);
    if (state.fault.second != 0) Inject(state.fault.first, state.fault.second, 0);
  }

  // Gives the blank volume the sign that it was in use before.
  void Show(State::Sign sign) {
    const auto change = [this](const std::function<void(machine::simulator::Volume&)>& change) {
      ChangeDisk(1, [&](Disk& disk) { change(*disk.partitions.back().volume); });
    };
    if (sign == State::kStaleEntry) {
      change([](auto& volume) { volume.stale_folders = {R"(C:\var\lib\kubelet\plugins\gone\)"}; });
      return;
    }
    change([](auto& volume) { volume.file_system = "NTFS"; });
    if (sign == State::kReported) {
      EXPECT_TRUE(volume_->IsVolumeFormatted(context_, {.volume_id = volume_id_})->formatted);
    } else {
      // Another process mounts the volume, so this process has not seen its file system.
      std::function<void()> nothing;
      EXPECT_TRUE(NodeProcess(node_.get(), &nothing)
                      .Answer({.api = Api::kStage, .selector = {.number = "1"}, .target = Target()})
                      .ok());
    }
    if (sign == State::kUnmounted) {
      EXPECT_TRUE(
          volume_->UnmountVolume(context_, {.volume_id = volume_id_, .target_path = Target()})
              .ok());
    } else if (sign == State::kRemoved) {
      EXPECT_TRUE(Rmdir(Below("plugins"), true).ok());
    }
    change([](auto& volume) { volume.file_system = ""; });
  }

  absl::Status Format(bool overwrite) {
    return storage_->FormatVolume(context_, {.volume_id = volume_id_, .overwrite = overwrite})
        .status();
  }
  absl::Status FormatAsReleased() {
    return volume_->FormatVolume(context_, {.volume_id = volume_id_}).status();
  }
  absl::Status SetReadOnly() {
    const auto set = [this](bool read_only) {
      return storage_->SetDiskReadOnly(context_, {.disk_number = 1, .read_only = read_only})
          .status();
    };
    const absl::Status made = set(true);
    return made.ok() ? set(false) : made;
  }
  void Keep() {
    deps_.keep_foreign_data = true;
    Remake();
  }
  std::vector<std::pair<const char*, std::function<absl::Status()>>> Calls() {
    return {{"PartitionDisk", [this] { return Partition(1); }},
            {"PartitionDisk with keep-foreign-data",
             [this] {
               Keep();
               return Partition(1);
             }},
            {"StageVolume", [this] { return StageDisk(1).status(); }},
            {"FormatVolume of storage", [this] { return Format(false); }},
            {"FormatVolume with overwrite", [this] { return Format(true); }},
            {"FormatVolume as released", [this] { return FormatAsReleased(); }},
            {"FormatVolume as released, with keep-foreign-data",
             [this] {
               Keep();
               return FormatAsReleased();
             }},
            {"ResizeVolume", [this] { return Resize(volume_id_, 0); }},
            {"SetDiskState",
             [this] {
               const absl::Status off = SetOnline(1, false);
               return off.ok() ? SetOnline(1, true) : off;
             }},
            {"SetDiskReadOnly", [this] { return SetReadOnly(); }}};
  }

  // Returns the bytes at six places of the disk, and a summary of its partitions and volumes.
  std::string Content() {
    const Disk disk = DiskNow(1);
    std::string content;
    for (const uint64_t at :
         {uint64_t{0}, kData, kMiddle, kDisk / 2, kDataEnd - kMiB, kDisk - kMiB}) {
      const machine::Bytes bytes = machine::simulator::ReadBytes(disk, at, kMiB);
      content.append(bytes.begin(), bytes.end());
    }
    for (const DiskPartition& partition : disk.partitions) {
      absl::StrAppend(&content, partition.offset_bytes, "+", partition.size_bytes, ";");
      if (partition.volume.has_value()) {
        absl::StrAppend(&content, partition.volume->file_system, partition.volume->tree.size());
      }
    }
    return content;
  }

  std::string volume_id_;
  int volumes_ = 0;
};

TEST_F(DestroyingCallsTest, EachCallHasTheExpectedEffectOnEachState) {
  for (const State& state : kStates) {
    std::string outcomes;
    for (const auto& [name, call] : Calls()) {
      SCOPED_TRACE(absl::StrCat(name, " on ", state.name));
      Prepare(state);
      const std::string before = Content();
      const absl::Status status = call();
      const bool is_same = Content() == before;
      EXPECT_TRUE(status.ok() || is_same) << status;
      outcomes += status.ok() ? (is_same ? '.' : 'w') : 'x';
      EXPECT_EQ(locks_.size(), 0u);
    }
    EXPECT_EQ(outcomes, state.expected) << state.name;
  }
}

TEST_F(DestroyingCallsTest, ARefusalSaysHowToReachTheData) {
  Prepare(kStates[6]);
  const auto health = storage_->GetVolumeHealth(context_, {.volume_id = volume_id_});
  ASSERT_TRUE(health.ok()) << health.status();
  EXPECT_TRUE(health->abnormal);
  EXPECT_EQ(health->message, "the volume holds a BitLocker volume");
  for (const absl::Status& refused : {StageDisk(1).status(), Format(false)}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                testing::ContainsRegex("take a snapshot first.*System log.*offline and online"));
  }
}

}  // namespace
}  // namespace csi_proxy::storage

// Tests ListDisks, SetDiskReadOnly, FormatVolume, GetVolumeHealth and ListVolumeHealth.
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/base/running_calls.h"
#include "server/groups/testing.h"
#include "server/simulator/storage.h"

namespace csi_proxy::groups {
namespace {

using absl::FailedPreconditionError;
using absl::InvalidArgumentError;
using absl::NotFoundError;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr char kMore[] = R"(
  disk {
    number: 20 size_bytes: 1073741824 style: GPT is_system: true bus_type: BUS_NVME
    eui: "0025385b71b00a1c" location: "PCI Slot 4 : Adapter 4 : Port 0 : Target 1 : LUN 2"
    partition {
      size_bytes: 536870912 volume { id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000020}\\" }
    }
  }
  disk {
    number: 21 size_bytes: 1073741824 style: GPT health: DISK_WARNING
    partition {
      size_bytes: 536870912
      volume {
        id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000021}\\" file_system: "NTFS" dirty: true
        label: "old" health: VOLUME_SPOT_FIX_NEEDED
      }
    }
  }
  disk { number: 22 size_bytes: 1048576 offline: true offline_reason: OFFLINE_COLLISION }
)";

std::string VolumeOf(int number) {
  return absl::StrCat(R"(\\?\Volume{00000000-0000-0000-0000-0000000000)", number, R"(}\)");
}

class StorageDisksTest : public HandlerTest {
 protected:
  StorageDisksTest()
      : HandlerTest(Files::kSimulated,
                    absl::StrCat(machine::simulator::DefaultScenarioText(), kMore)) {}

  absl::Status Format(const storage::FormatVolumeRequest& request) {
    return storage_->FormatVolume(context_, request).status();
  }
  absl::Status SetReadOnly(uint32_t number, bool read_only) {
    return storage_->SetDiskReadOnly(context_, {.disk_number = number, .read_only = read_only})
        .status();
  }
  storage::DiskInfo Info(uint32_t number) {
    const auto all = storage_->ListDisks(context_, {});
    EXPECT_TRUE(all.ok()) << all.status();
    for (const storage::DiskInfo& disk : all->disks) {
      if (disk.number == number) return disk;
    }
    ADD_FAILURE() << "no disk " << number;
    return {};
  }
  // Returns the simulated volume of a disk.
  machine::simulator::Volume Machine(uint32_t disk_number) {
    for (const machine::simulator::Disk& disk : node_->Snapshot().disks) {
      for (const machine::simulator::DiskPartition& partition : disk.partitions) {
        if (disk.number == disk_number && partition.volume.has_value()) return *partition.volume;
      }
    }
    return {*VolumeId::Parse(VolumeOf(99)), "", 0, {}};
  }
};

TEST_F(StorageDisksTest, ListDisksReturnsAllFieldsOfEachDisk) {
  const auto all = storage_->ListDisks(context_, {});
  ASSERT_TRUE(all.ok()) << all.status();
  std::vector<uint32_t> numbers;
  for (const storage::DiskInfo& disk : all->disks) numbers.push_back(disk.number);
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3, 4, 20, 21, 22));

  const storage::DiskInfo system = Info(0);
  EXPECT_TRUE(system.is_boot && system.is_system && system.is_online && !system.is_read_only);
  EXPECT_EQ(system.partition_style, storage::PartitionStyle::kGpt);
  EXPECT_EQ(system.size_bytes, int64_t{64} << 30);
  EXPECT_EQ(system.page83, "systemdisk");

  const storage::DiskInfo nvme = Info(20);
  EXPECT_EQ(nvme.bus_type, "NVMe");
  EXPECT_EQ(nvme.path, machine::simulator::DevicePath(20));
  EXPECT_EQ(nvme.unique_id, "eui.0025385B71B00A1C");
  EXPECT_EQ(nvme.eui, "0025385b71b00a1c");
  EXPECT_EQ(nvme.adapter, "4");
  EXPECT_EQ(nvme.bus, "0") << "the port";
  EXPECT_EQ(nvme.target, "1");
  EXPECT_EQ(nvme.lun_id, "2");
  EXPECT_TRUE(nvme.is_system && !nvme.is_boot);

  EXPECT_FALSE(Info(22).is_online);
  EXPECT_EQ(Info(22).offline_reason, "Collision");
  EXPECT_EQ(Info(3).offline_reason, "Policy");
  EXPECT_TRUE(Info(3).is_read_only);
  EXPECT_EQ(Info(4).serial_number, "mute") << "it answers no question";

  // The disk group returns the same names.
  const auto ids = disk_->ListDiskIDs(context_, {});
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(ids->disk_ids.size(), all->disks.size());
  for (const storage::DiskInfo& disk : all->disks) {
    EXPECT_EQ(ids->disk_ids.at(disk.number).page83, disk.page83);
  }
}

// A listing of health makes as many WMI queries for many volumes as for one (scale_test.cc).
TEST_F(StorageDisksTest, AnUnresponsiveDiskFailsOnlyTheHealthOfItsOwnVolumes) {
  const auto list = [this] {
    const auto listed =
        storage_->ListVolumeHealth(context_.WithTimeout(absl::Seconds(2)),
                                   {.volume_ids = {VolumeOf(20), VolumeOf(99), VolumeOf(21)}});
    EXPECT_TRUE(listed.ok()) << listed.status();
    return listed.ok() ? listed->volumes : std::vector<storage::VolumeHealth>();
  };
  const std::string ill =
      "the file system is marked dirty; health of the volume: Spot fix needed; health of disk 21: "
      "Warning";
  EXPECT_THAT(list(),
              ElementsAre(storage::VolumeHealth{VolumeOf(20), false, ""},
                          storage::VolumeHealth{VolumeOf(99), false,
                                                "not known: there is no volume " + VolumeOf(99)},
                          storage::VolumeHealth{VolumeOf(21), true, ill}));
  Delay("win32.GetFileSystem", absl::Seconds(1), 0, VolumeOf(20));
  const auto some = list();
  ASSERT_EQ(some.size(), 3u);
  EXPECT_THAT(some[0].message, HasSubstr("not known: "));
  EXPECT_EQ(some[2].message, ill);
  const CallContext soon = context_.WithTimeout(absl::Seconds(2));
  const std::vector<std::string> many(9, VolumeOf(20));
  EXPECT_TRUE(storage_->ListVolumeHealth(soon, {.volume_ids = many}).ok());
  EXPECT_TRUE(soon.Check().ok()) << "no time is left for the answer";
  // Without WMI, the answer still contains the dirty bit of the file system.
  node_->ClearFaults();
  Delay("wmi.*", absl::Minutes(1));
  const auto without = list();
  ASSERT_EQ(without.size(), 3u);
  EXPECT_THAT(without[2].message,
              testing::StartsWith("the file system is marked dirty; not known"));
}

class ContentTest : public HandlerTest {
 protected:
  ContentTest()
      : HandlerTest(Files::kSimulated, absl::StrCat(machine::simulator::DefaultScenarioText(), R"(
          disk { number: 30 size_bytes: 1073741824 foreign { offset_bytes: 1080 data: "\123\357" } }
          disk { number: 31 size_bytes: 1073741824 style: GPT
                 partition { type: LINUX size_bytes: 536870912 } }
          disk { number: 32 size_bytes: 1073741824 offline: true
                 foreign { offset_bytes: 0 data: "XFSB" } })")) {}

  std::map<uint32_t, std::string> Contents(bool read) {
    std::map<uint32_t, std::string> found;
    const auto all = storage_->ListDisks(context_, {.read_content = read});
    EXPECT_TRUE(all.ok()) << all.status();
    for (const storage::DiskInfo& disk : all->disks) {
      if (!disk.content.empty()) found[disk.number] = disk.content;
    }
    return found;
  }
};

TEST_F(ContentTest, ContentIsReadOnRequestAndIsUnknownOnlyForAnUnresponsiveDisk) {
  EXPECT_THAT(Contents(false), testing::IsEmpty());
  EXPECT_THAT(Contents(true), ElementsAre(Pair(30, testing::Not(HasSubstr("not known"))),
                                          Pair(31, HasSubstr("another system"))));
  Delay("win32.Read", absl::Seconds(1), 1);
  std::map<uint32_t, std::string> found = Contents(true);
  EXPECT_THAT(found[1], HasSubstr("not known: "));
  EXPECT_THAT(found[30], testing::Not(HasSubstr("not known")));
  Delay("win32.Read", absl::Seconds(1));
  const CallContext soon = context_.WithTimeout(absl::Milliseconds(500));
  EXPECT_TRUE(storage_->ListDisks(soon, {.read_content = true}).ok());
  EXPECT_TRUE(soon.Check().ok()) << "no time is left for the answer";
}

TEST_F(StorageDisksTest, SetDiskReadOnlySetsAndClearsTheFlag) {
  ASSERT_TRUE(SetReadOnly(21, true).ok());
  EXPECT_TRUE(Info(21).is_read_only);
  EXPECT_FALSE(Format({.volume_id = VolumeOf(21), .overwrite = true}).ok());
  ASSERT_TRUE(SetReadOnly(21, false).ok());
  ASSERT_TRUE(SetReadOnly(21, false).ok());
  EXPECT_FALSE(Info(21).is_read_only);
  EXPECT_TRUE(Format({.volume_id = VolumeOf(21), .overwrite = true}).ok());
  // Windows leaves a new disk of a SAN raw, offline and read-only.
  ASSERT_TRUE(SetReadOnly(3, false).ok());
  EXPECT_FALSE(Info(3).is_read_only);
  EXPECT_EQ(SetReadOnly(77, true), NotFoundError("there is no disk 77"));
}

TEST_F(StorageDisksTest, SetDiskReadOnlyFlushesThePendingWritesFirst) {
  Fail("win32.Flush");
  const absl::Status failed = SetReadOnly(21, true);
  EXPECT_THAT(std::string(failed.message()),
              HasSubstr("making disk 21 read-only: flushing volume " + VolumeOf(21)));
  EXPECT_FALSE(Info(21).is_read_only);
  EXPECT_TRUE(SetReadOnly(21, true).ok());
}

TEST_F(StorageDisksTest, SystemDisksAreNeitherFormattedNorMadeReadOnly) {
  for (const uint32_t number : {0, 20}) {
    const absl::Status refused = SetReadOnly(number, true);
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
    EXPECT_FALSE(Info(number).is_read_only);
  }
  EXPECT_EQ(Format({.volume_id = VolumeOf(20), .overwrite = true}),
            FailedPreconditionError("volume_id: Windows boots from disk 20"));
  EXPECT_EQ(Machine(20).file_system, "");
  const std::string system = R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)";
  EXPECT_EQ(Format({.volume_id = system, .overwrite = true}).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Exists(Below("plugins")));
}

TEST_F(StorageDisksTest, FormatVolumeSetsTheLabel) {
  const std::string id = Volume(1, /*format=*/false);
  ASSERT_TRUE(Format({.volume_id = id, .label = "pvc-1"}).ok());
  EXPECT_EQ(Machine(1).file_system, "NTFS");
  EXPECT_EQ(Machine(1).label, "pvc-1");
  const std::string longest(32, 'l');
  ASSERT_TRUE(Format({.volume_id = id,
                      .file_system = "refs",
                      .allocation_unit_bytes = 65536,
                      .label = longest,
                      .overwrite = true})
                  .ok());
  EXPECT_EQ(Machine(1).file_system, "ReFS");
  EXPECT_EQ(Machine(1).label, longest);
  ASSERT_TRUE(Format({.volume_id = id, .overwrite = true}).ok());
  EXPECT_EQ(Machine(1).label, "");
}

TEST_F(StorageDisksTest, FormatVolumeKeepsAFileSystemUnlessOverwriteIsSet) {
  EXPECT_EQ(Format({.volume_id = VolumeOf(21), .label = "new"}),
            FailedPreconditionError(
                absl::StrCat("volume_id: volume ", VolumeOf(21),
                             " has a file system, NTFS: set overwrite to format it nevertheless")));
  EXPECT_EQ(Machine(21).label, "old");
  EXPECT_TRUE(Format({.volume_id = VolumeOf(21), .label = "new", .overwrite = true}).ok());
  EXPECT_EQ(Machine(21).label, "new");
}

TEST_F(StorageDisksTest, FormatVolumeRefusesInvalidLabels) {
  const auto everything = [&] {
    return machine::simulator::StateToProto(node_->Snapshot()).SerializeAsString();
  };
  const std::string before = everything();
  const auto format = [&](const std::string& label) {
    return Format({.volume_id = VolumeOf(21), .label = label, .overwrite = true});
  };
  EXPECT_EQ(format(std::string(33, 'l')),
            InvalidArgumentError("label: is longer than 32 UTF-16 units"));
  EXPECT_EQ(format(std::string(97, 'l')), InvalidArgumentError("label: is longer than 96 bytes"));
  EXPECT_EQ(format("a\nb"), InvalidArgumentError("label: holds a control character"));
  EXPECT_EQ(format("\xFF"), InvalidArgumentError("label: is not UTF-8"));
  EXPECT_EQ(everything(), before);
}

TEST_F(StorageDisksTest, GetVolumeHealthReportsFileSystemVolumeAndDisk) {
  const auto ill = storage_->GetVolumeHealth(context_, {.volume_id = VolumeOf(21)});
  ASSERT_TRUE(ill.ok()) << ill.status();
  EXPECT_TRUE(ill->abnormal && ill->is_dirty);
  EXPECT_EQ(ill->message,
            "the file system is marked dirty; health of the volume: Spot fix needed; "
            "health of disk 21: Warning");
  EXPECT_EQ(ill->file_system, "NTFS");
  EXPECT_EQ(ill->volume_health, "Spot fix needed");
  EXPECT_TRUE(ill->disk_number == 21 && ill->disk_health == "Warning");

  const std::string id = Volume(1);
  const auto well = storage_->GetVolumeHealth(context_, {.volume_id = id});
  ASSERT_TRUE(well.ok()) << well.status();
  EXPECT_FALSE(well->abnormal || well->is_dirty || well->is_disk_read_only);
  EXPECT_EQ(well->message, "");
  EXPECT_EQ(well->volume_health, "Healthy");
  EXPECT_TRUE(well->disk_number == 1 && well->disk_health == "Healthy");
  ASSERT_TRUE(SetReadOnly(1, true).ok());
  const auto read_only = storage_->GetVolumeHealth(context_, {.volume_id = id});
  ASSERT_TRUE(read_only.ok());
  EXPECT_TRUE(read_only->is_disk_read_only && !read_only->abnormal) << "somebody wanted it so";

  const auto empty = storage_->GetVolumeHealth(context_, {.volume_id = VolumeOf(20)});
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_FALSE(empty->abnormal);
  EXPECT_EQ(empty->file_system, "");
  EXPECT_EQ(empty->volume_health, "");
}

// 1392: NTFS cannot read its dirty bit. 1 and 50: the file system has no dirty bit.
TEST_F(StorageDisksTest, GetVolumeHealthSucceedsWithoutADirtyBit) {
  const std::string id = Volume(1);
  const auto answers = [&](uint32_t error) {
    machine::simulator::FaultRule rule;
    rule.operation = "win32.Control";
    rule.resource = id.substr(0, id.size() - 1);
    // The query for the location uses up the first rule, and the next query the second.
    rule.times = 1;
    rule.latency = absl::Nanoseconds(1);
    EXPECT_TRUE(node_->InjectFault(rule).ok());
    rule.latency = absl::ZeroDuration();
    rule.code = absl::StatusCode::kInternal;
    rule.error = machine::simulator::KnownError(error);
    EXPECT_TRUE(node_->InjectFault(rule).ok());
    return storage_->GetVolumeHealth(context_, {.volume_id = id});
  };
  EXPECT_TRUE(answers(1392)->is_dirty);
  EXPECT_FALSE(answers(1)->is_dirty);
  EXPECT_FALSE(answers(50)->is_dirty);
  const auto failed = answers(1117);
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr("asking for the dirty bit of"));
}

// The log shows the start, the progress and the end of a format by either group.
TEST_F(StorageDisksTest, AFormatLogsItsStartProgressAndEnd) {
  absl::Mutex mutex;
  std::vector<std::string> lines;
  deps_.log = [&](absl::string_view line) {
    absl::MutexLock lock(&mutex);
    lines.emplace_back(line);
  };
  const LongRunLog watch([](absl::string_view) {}, deps_.log, absl::Milliseconds(40));
  Remake();
  for (const bool old_group : {false, true}) {
    lines.clear();
    Delay("wmi.Invoke/MSFT_Volume.Format", absl::Milliseconds(200), 1);
    ASSERT_TRUE(
        old_group
            ? volume_->FormatVolume(context_, {.volume_id = VolumeOf(21)}).ok()
            : Format({.volume_id = VolumeOf(21), .file_system = "refs", .overwrite = true}).ok());
    ASSERT_GE(lines.size(), 3u);
    const std::string what = absl::StrCat("formatting volume ", VolumeOf(21), " with ",
                                          old_group ? "NTFS" : "ReFS", ": ");
    EXPECT_EQ(lines.front(), what + "started");
    EXPECT_THAT(lines[1], testing::StartsWith(what + "still running after "));
    EXPECT_THAT(lines.back(), testing::StartsWith(what + "done after "));
  }
  const storage::FormatVolumeRequest again = {.volume_id = VolumeOf(21), .overwrite = true};
  Fail("wmi.Invoke/MSFT_Volume.Format", 1, 0x80041001);
  EXPECT_FALSE(Format(again).ok());
  EXPECT_THAT(lines.back(), HasSubstr(": failed after "));
  Delay("wmi.Invoke/MSFT_Volume.Format", absl::Seconds(60), 1);
  const CallContext soon = context_.WithTimeout(absl::Milliseconds(200));
  EXPECT_FALSE(storage_->FormatVolume(soon, again).ok());
  EXPECT_THAT(lines.back(), HasSubstr(", Windows may still be formatting: "));
}

}  // namespace
}  // namespace csi_proxy::groups

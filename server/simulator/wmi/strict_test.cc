// Tests that the double refuses, delays or leaves out as WMI does, where a friendlier double would
// not.
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "server/simulator/storage.h"
#include "server/simulator/wmi/testing.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const cim::Arguments kMaximum = {{"UseMaximumSize", Value::Boolean(true)}};

class StrictWmiTest : public WmiTest {
 protected:
  explicit StrictWmiTest(absl::string_view more = "") : WmiTest(more) {}

  void Change(const std::function<void(NodeState&)>& change) { node_->core()->Change(change); }
  void Behave(const std::function<void(Behaviour&)>& change) {
    Change([&](NodeState& state) { change(state.behaviour); });
  }
  // Makes a volume on disk 1 and returns its id, even if WMI does not show the volume.
  VolumeId NewVolume() {
    EXPECT_THAT(Invoke(Disk(1), "Initialize"), Returns(0));
    EXPECT_THAT(Invoke(Disk(1), "CreatePartition", kMaximum), Returns(0));
    return node_->Snapshot().disks[1].partitions.back().volume->id;
  }
  // Returns true if the mount manager knows the volume.
  bool IsMounted(const VolumeId& id) {
    bool found = false;
    Change([&](NodeState& state) { found = FindVolume(state, id).ok(); });
    return found;
  }
  size_t Shown(const VolumeId& id) {
    return All(Query("MSFT_Volume").Where("UniqueId", Value::String(id.ToString())))->size();
  }
};

TEST_F(StrictWmiTest, TheMountManagerShowsANewVolumeBeforeWmi) {
  Behave([](Behaviour& behaviour) { behaviour.volume_cache_delay = absl::Hours(1); });
  const VolumeId id = NewVolume();
  EXPECT_TRUE(IsMounted(id));
  EXPECT_EQ(Shown(id), 0);
  const cim::Association to_volume = {"MSFT_PartitionToVolume", "MSFT_Volume", "Volume",
                                      "Partition"};
  const std::string partition = Partition(1, 2).path();
  EXPECT_THAT(*session_->Associators(context_, kStorage, partition, to_volume), IsEmpty());
  EXPECT_FALSE(Partition(1, 2).Has("AccessPaths"));
  ASSERT_THAT(Invoke(Disk(1), "Refresh"), Returns(0));
  EXPECT_EQ(Shown(id), 1);
  EXPECT_THAT(*session_->Associators(context_, kStorage, partition, to_volume), SizeIs(1));
  EXPECT_TRUE(Partition(1, 2).Has("AccessPaths"));
}

TEST_F(StrictWmiTest, UpdateHostStorageCacheShowsNewVolumes) {
  Behave([](Behaviour& behaviour) { behaviour.volume_cache_delay = absl::Hours(1); });
  const VolumeId id = NewVolume();
  ASSERT_THAT(Invoke(Disk(2), "Refresh"), Returns(0));
  EXPECT_EQ(Shown(id), 0) << "another disk's";
  ASSERT_THAT(InvokeStatic("MSFT_StorageSetting", "UpdateHostStorageCache"), Returns(0));
  EXPECT_EQ(Shown(id), 1);
}

TEST_F(StrictWmiTest, ARefreshDoesNotShowAVolumeThatHasNotArrived) {
  Change([](NodeState& state) {
    state.behaviour.volume_cache_delay = absl::Hours(1);
    state.volume_arrival_delay = absl::Hours(1);
  });
  const VolumeId id = NewVolume();
  ASSERT_THAT(Invoke(Disk(1), "Refresh"), Returns(0));
  Change([](NodeState& state) {
    state.disks[1].partitions.back().arrives_at = SteadyTime::InfinitePast();
  });
  EXPECT_TRUE(IsMounted(id));
  EXPECT_EQ(Shown(id), 0);
}

TEST_F(StrictWmiTest, WmiShowsANewVolumeAfterTheCacheDelayWithoutARefresh) {
  Behave([](Behaviour& behaviour) { behaviour.volume_cache_delay = absl::Milliseconds(30); });
  const VolumeId id = NewVolume();
  const SteadyTime start = SteadyTime::Now();
  while (Shown(id) == 0) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_GE(SteadyTime::Now() - start, absl::Milliseconds(10));
}

TEST_F(StrictWmiTest, OutParametersCanBeConfiguredToBeNull) {
  Behave([](Behaviour& behaviour) { behaviour.out_parameters = OutParameters::kNull; });
  ASSERT_THAT(Invoke(Disk(1), "Initialize"), Returns(0));
  const auto created = Invoke(Disk(1), "CreatePartition", kMaximum);
  ASSERT_THAT(created, Returns(0));
  EXPECT_TRUE(created->out.Get("CreatedPartition")->is_null());
  const auto refused = Invoke(Disk(1), "Initialize");
  ASSERT_THAT(refused, Returns(41001));
  EXPECT_TRUE(refused->out.Get("ExtendedStatus")->is_null());
}

TEST_F(StrictWmiTest, OutParametersCanBeConfiguredToHaveAnotherType) {
  Behave([](Behaviour& behaviour) { behaviour.out_parameters = OutParameters::kOdd; });
  const auto refused = Invoke(Disk(0), "Initialize");
  ASSERT_THAT(refused, Returns(41001));
  EXPECT_THAT(refused->out.Get("ExtendedStatus")->AsText(), IsOk());
  ASSERT_THAT(Invoke(Disk(1), "Initialize"), Returns(0));
  const auto created = Invoke(Disk(1), "CreatePartition", kMaximum);
  ASSERT_THAT(created, Returns(0));
  EXPECT_THAT(created->out.Get("CreatedPartition")->AsText(), IsOk());
  // Numbers keep their values.
  EXPECT_TRUE(Invoke(Partition(2, 1), "GetSupportedSize")->out.Has("SizeMax"));
}

class NumberlessDiskTest : public StrictWmiTest {
 protected:
  NumberlessDiskTest()
      : StrictWmiTest("disk { number: 7 size_bytes: 1073741824 without_number: true }") {}
};

TEST_F(NumberlessDiskTest, ADiskCanBeConfiguredToHaveNoNumber) {
  EXPECT_THAT(*All(Query("MSFT_Disk").Where("Number", Value::Uint32(7))), IsEmpty());
  const auto disks = All(Query("MSFT_Disk"));
  ASSERT_THAT(*disks, SizeIs(5));
  const cim::Object& disk = disks->back();
  EXPECT_TRUE(disk.Get("Number")->is_null());
  EXPECT_TRUE(disk.Has("Path"));
  // A method can still be called on the object, by its path.
  EXPECT_THAT(Invoke(disk, "Refresh"), Returns(41000));
  bool found = true;
  Change([&](NodeState& state) { found = FindDisk(state, 7).ok(); });
  EXPECT_FALSE(found) << "no device has this number";
}

// learn.microsoft.com/windows-server/administration/windows-commands/mountvol: /N "disables
// automatic mounting of new basic volumes".
TEST_F(StrictWmiTest, WithoutAutomountAVolumeAppearsOnlyWhenItsPartitionIsOnline) {
  Behave([](Behaviour& behaviour) { behaviour.automount_disabled = true; });
  const VolumeId id = NewVolume();
  ASSERT_THAT(Invoke(Disk(1), "Refresh"), Returns(0));
  EXPECT_FALSE(IsMounted(id));
  EXPECT_EQ(Shown(id), 0);
  EXPECT_THAT(Partition(1, 2).GetBoolean("IsOffline"), Yields(true));
  EXPECT_THAT(Partition(1, 2).GetUint32("OperationalStatus"), Yields(4U));
  for (int i = 0; i < 2; ++i) ASSERT_THAT(Invoke(Partition(1, 2), "Online"), Returns(0));
  EXPECT_TRUE(IsMounted(id));
  EXPECT_EQ(Shown(id), 1);
  EXPECT_THAT(Partition(1, 2).GetBoolean("IsOffline"), Yields(false));
  // The partition has been online once, so its volume now appears whenever the disk is online.
  ASSERT_THAT(Invoke(Disk(1), "Offline"), Returns(0));
  EXPECT_THAT(Invoke(Partition(1, 2), "Online"), Returns(41003));
  ASSERT_THAT(Invoke(Disk(1), "Online"), Returns(0));
  EXPECT_TRUE(IsMounted(id));
}

TEST_F(StrictWmiTest, WithoutAutomountAnAttachedDisksVolumeIsNotMounted) {
  machine::simulator::Disk disk = node_->Snapshot().disks[2];
  const VolumeId id = TestVolume(5);
  disk.partitions[0].volume->id = id;
  Behave([](Behaviour& behaviour) { behaviour.automount_disabled = true; });
  ASSERT_THAT(node_->AttachDisk(disk, 5), IsOk());
  EXPECT_FALSE(IsMounted(id));
  ASSERT_THAT(Invoke(Partition(5, 1), "Online"), Returns(0));
  EXPECT_TRUE(IsMounted(id));
}

TEST_F(StrictWmiTest, AnOfflineDiskShowsItsPartitions) {
  const std::string path = Disk(2).path();
  ASSERT_THAT(Invoke(Disk(2), "Offline"), Returns(0));
  EXPECT_EQ(Disk(2).path(), path);
  EXPECT_THAT(Disk(2).GetUint32("NumberOfPartitions"), Yields(1U));
  EXPECT_THAT(Disk(2).GetUint32("PartitionStyle"), Yields(2U));
  EXPECT_THAT(Partition(2, 1).GetUint64("Size"), Yields(uint64_t{536870912}));
  EXPECT_THAT(Partition(2, 1).GetBoolean("IsOffline"), Yields(true));
  EXPECT_EQ(Shown(TestVolume(2)), 0);
  EXPECT_FALSE(IsMounted(TestVolume(2)));
}

TEST_F(StrictWmiTest, OpenFilesCanBeConfiguredToKeepADiskOnline) {
  const VolumeId id = NewVolume();
  ASSERT_THAT(host_->volume().Format(context_, id, {}), IsOk());
  ASSERT_THAT(node_->MakeDirectory("C:\\m"), IsOk());
  Change([&](NodeState& state) {
    Tree& tree = state.disks[0].partitions[2].volume->tree;
    tree.SetMounted(*tree.Find(Tree::kRoot, "m"), id);
  });
  ASSERT_THAT(node_->WriteFile("C:\\m\\log.txt", 1, false), IsOk());
  ASSERT_THAT(node_->SetOtherOpens({{"C:\\m\\log.txt", 1, 7}}), IsOk());
  Behave([](Behaviour& behaviour) { behaviour.open_files_keep_online = true; });
  EXPECT_THAT(Invoke(Disk(1), "Offline"), Returns(6));
  EXPECT_TRUE(node_->Snapshot().disks[1].online);
  EXPECT_THAT(Invoke(Disk(2), "Offline"), Returns(0));
  ASSERT_THAT(node_->SetOtherOpens({}), IsOk());
  EXPECT_THAT(Invoke(Disk(1), "Offline"), Returns(0));
}

class CollisionTest : public StrictWmiTest {
 protected:
  CollisionTest()
      : StrictWmiTest(R"(
    disk { number: 4 size_bytes: 1073741824 style: GPT disk_id: "{a}" partition {
      size_bytes: 104857600
      volume { id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000004}\\" file_system: "NTFS" } } }
    disk { number: 5 size_bytes: 1073741824 style: GPT disk_id: "{a}" offline: true read_only: true
           offline_reason: OFFLINE_COLLISION partition { size_bytes: 104857600
      volume { id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000004}\\" file_system: "NTFS" } } })") {
  }
};

TEST_F(CollisionTest, AWritableCopyComesOnlineWithANewIdentity) {
  EXPECT_THAT(Disk(5).GetUint32("OfflineReason"), Yields(4U));
  EXPECT_EQ(Shown(TestVolume(4)), 1u);
  EXPECT_THAT(Invoke(Disk(5), "Online"), Returns(5));
  EXPECT_THAT(Disk(5).GetBoolean("IsOffline"), Yields(true));
  Change([](NodeState& state) { state.disks[5].read_only = false; });
  EXPECT_THAT(Invoke(Disk(5), "Online"), Returns(0));
  const NodeState state = node_->Snapshot();
  EXPECT_NE(state.disks[5].partitions[0].volume->id, TestVolume(4));
  EXPECT_NE(state.disks[5].facts.disk_id, "{a}");
  EXPECT_THAT(*host_->volume().ListVolumes(context_, 4, 0), testing::ElementsAre(TestVolume(4)));
}

TEST_F(CollisionTest, ACopyKeepsTheIdentityIfTheOriginalIsOffline) {
  EXPECT_THAT(Invoke(Disk(4), "Offline"), Returns(0));
  EXPECT_THAT(Invoke(Disk(5), "Online"), Returns(0));
  EXPECT_THAT(*host_->volume().ListVolumes(context_, 5, 0), testing::ElementsAre(TestVolume(4)));
}

TEST_F(StrictWmiTest, WmiShowsNoVolumeOfADynamicDisk) {
  const auto node = LoadScenario("gce-pd-scsi", "test");
  ASSERT_THAT(node, IsOk());
  const VolumeId scratch = (*node)->Snapshot().disks[1].partitions[2].volume->id;
  const auto session = NewSimulatedSession((*node)->core());
  const auto partitions = session->Query(
      context_, kStorage, Query("MSFT_Partition").Where("DiskNumber", Value::Uint32(1)));
  ASSERT_THAT(*partitions, SizeIs(3));
  EXPECT_THAT(partitions->back().GetString("GptType"),
              Yields("{af9b60a0-1431-4f62-bc68-3311714a69ad}"));
  EXPECT_THAT(
      *session->Query(context_, kStorage,
                      Query("MSFT_Volume").Where("UniqueId", Value::String(scratch.ToString()))),
      IsEmpty());
}

}  // namespace
}  // namespace csi_proxy::machine::simulator::wmi

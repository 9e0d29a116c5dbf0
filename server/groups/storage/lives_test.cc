// Tests StageVolume and UnstageVolume in all scenarios of Clouds(). The data disk must be staged
// whenever it arrives and by each of its names. The rest of the node must stay unchanged.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "server/groups/storage/cloud_testing.h"
#include "server/host/windows_use.h"

namespace csi_proxy::storage {
namespace {

using testing::IsEmpty;

std::string Text(const DiskSelector& disk) {
  return absl::StrCat("number \"", disk.number, "\" serial \"", disk.serial_number, "\" page 83 \"",
                      disk.page83, "\" LUN \"", disk.lun_id, "\" adapter \"", disk.adapter, "\"");
}

// Returns the unique names of the first data disk that the cloud attaches to a node.
std::vector<DiskSelector> Names(const std::string& cloud) {
  const auto node = CloudNode(cloud);
  const uint32_t number = AttachDataDisk(*node);
  RevealDataDisk(*node);
  Process process(node.get());
  return NamesOf(process, number, true);
}

// Stages and unstages a volume, twice each.
void Live(Machine& node, uint32_t number, const DiskSelector& name) {
  const std::string before = AllElse(node, number);
  Process process(&node);
  const auto staged = process.Stage(name);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->disk_number, number);
  const auto again = process.Stage(name);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->steps, IsEmpty());
  EXPECT_EQ(again->volume_id, staged->volume_id);
  EXPECT_EQ(AllElse(node, number), before);
  const auto unstaged = process.Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_EQ(unstaged->volume_id, staged->volume_id);
  EXPECT_THAT(unstaged->steps, testing::Contains(StorageStep::kTakenOffline));
  const auto once_more = process.Unstage();
  ASSERT_TRUE(once_more.ok()) << once_more.status();
  EXPECT_THAT(once_more->steps, IsEmpty());
  EXPECT_EQ(AllElse(node, number), before);
}

class CloudLivesTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(On, CloudLivesTest, testing::ValuesIn(Clouds()), CloudName);

TEST_P(CloudLivesTest, AnAttachedDiskIsStagedByEachOfItsIdentifiers) {
  const std::vector<DiskSelector> names = Names(GetParam());
  EXPECT_GE(names.size(), 2u);
  for (const DiskSelector& name : names) {
    SCOPED_TRACE(Text(name));
    const auto node = CloudNode(GetParam());
    const uint32_t number = AttachDataDisk(*node);
    RevealDataDisk(*node);
    Live(*node, number, name);
    // The second life begins with the volume of the first.
    Live(*node, number, name);
  }
}

// The disk arrives after the call has searched for it once.
TEST_P(CloudLivesTest, ADiskThatArrivesDuringTheCallIsStaged) {
  const DiskSelector name = Names(GetParam()).back();
  const auto node = CloudNode(GetParam());
  const uint32_t number = AttachDataDisk(*node);
  const std::string before = AllElse(*node, number);
  Process looking(node.get());
  ASSERT_TRUE(looking.host->disk().ListDisks(looking.context).ok());
  const int calls_of_a_look = looking.life.calls();
  Process process(node.get());
  process.life.before_call = [&](int call) {
    if (call == calls_of_a_look + 1) RevealDataDisk(*node);
  };
  const auto staged = process.Stage(name);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->disk_number, number);
  EXPECT_EQ(staged->steps.front(), StorageStep::kRescanned);
  EXPECT_EQ(AllElse(*node, number), before);
  Live(*node, number, name);
}

// Requests each disk that Windows or the node uses, by each of its selectors. Other disks may have
// the same selector. The disk must not change, even if the call succeeds.
TEST_P(CloudLivesTest, ADiskThatTheNodeUsesIsNeverChanged) {
  const NodeState state = CloudNode(GetParam())->Snapshot();
  int kept = 0;
  const auto listing = NodeIn(state);
  Process process(listing.get());
  const auto disks = process.host->disk().ListDisks(process.context);
  ASSERT_TRUE(disks.ok()) << disks.status();
  const auto is_used = [&](uint32_t number) {
    return std::any_of(disks->begin(), disks->end(), [&](const host::DiskDescription& disk) {
      return disk.number == number &&
             absl::IsFailedPrecondition(
                 host::CheckUnused(*process.host, process.context, process.deps.roots.get(), disk));
    });
  };
  for (const host::DiskDescription& disk : *disks) {
    if (!is_used(disk.number)) continue;
    ++kept;
    for (const DiskSelector& name : NamesOf(process, disk.number, false)) {
      SCOPED_TRACE(Text(name));
      const auto node = NodeIn(state);
      Process asked(node.get());
      const CallContext hurried = asked.context.WithTimeout(absl::Milliseconds(100));
      const auto answer =
          asked.storage->StageVolume(hurried, {.disk = name, .target_path = kTarget});
      // A LUN may select another, unused disk. A disk that is selected by its page 83 or serial
      // number is mounted even if it has a letter.
      const bool is_own_name = name.number.empty() && name.lun_id.empty();
      EXPECT_TRUE(!answer.ok() || is_own_name || !is_used(answer->disk_number));
      EXPECT_TRUE(!answer.ok() || name.number.empty());
      const auto is_free = [&](uint32_t number) { return !is_used(number); };
      EXPECT_EQ(AllBut(*node, is_free), AllBut(*NodeIn(state), is_free));
    }
  }
  EXPECT_GE(kept, 1);
}

}  // namespace
}  // namespace csi_proxy::storage

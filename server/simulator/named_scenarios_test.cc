// Tests the scenarios that are part of the program, and how clouds attach disks to them.
#include "server/simulator/named_scenarios.h"

#include <fstream>
#include <iterator>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "server/node/simulated_host.h"
#include "server/simulator/admin.h"
#include "server/simulator/admin.pb.h"
#include "server/simulator/storage.h"
#include "server/simulator/testing.h"

namespace csi_proxy::machine::simulator {
namespace {

namespace proto = ::csi_proxy::simulated;

std::unique_ptr<Machine> Node(absl::string_view scenario) {
  auto node = LoadScenario(scenario, "test");
  EXPECT_THAT(node, IsOk());
  return node.ok() ? *std::move(node) : nullptr;
}

// Attaches a disk of 1 GiB at `place`, or at the first free place, and returns the disk.
Disk Attached(Machine& node, std::optional<uint32_t> place = std::nullopt) {
  proto::AttachDiskRequest request;
  request.set_choose_number(true);
  request.mutable_disk()->set_size_bytes(kGiB);
  if (place.has_value()) request.set_place(*place);
  proto::AttachDiskResponse response;
  EXPECT_THAT(CallAdmin(node, "AttachDisk", request, &response), IsOk());
  return node.Snapshot().disks.back();
}

class NamedScenarioTest : public testing::TestWithParam<NamedScenario> {};

INSTANTIATE_TEST_SUITE_P(All, NamedScenarioTest, testing::ValuesIn(NamedScenarios()),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(NamedScenarioTest, AScenarioLoadsByNameAndIsListed) {
  EXPECT_THAT(LoadScenario(GetParam().name, "test"), IsOk());
  EXPECT_FALSE(GetParam().description().empty());
  EXPECT_TRUE(absl::StrContains(ListScenarios(), GetParam().name));
  EXPECT_TRUE(absl::StrContains(ListScenarios(), GetParam().description()));
}

TEST_P(NamedScenarioTest, ADumpedNodeLoadsUnchanged) {
  const auto node = Node(GetParam().name);
  const std::string dump = StateToProto(node->Snapshot()).DebugString();
  EXPECT_EQ(StateToProto(Node(dump)->Snapshot()).DebugString(), dump);
}

TEST_P(NamedScenarioTest, WindowsRunsOnOneDisk) {
  const auto node = Node(GetParam().name);
  const NodeState state = node->Snapshot();
  EXPECT_EQ(std::count_if(state.disks.begin(), state.disks.end(), IsBoot), 1);
}

// Every attached disk differs from all others, as far as the cloud distinguishes disks.
TEST_P(NamedScenarioTest, AttachedDisksHaveDifferentAddressesAndNames) {
  const auto node = Node(GetParam().name);
  for (int i = 0; i < 3; ++i) Attached(*node);
  const std::vector<Disk> disks = node->Snapshot().disks;
  if (!node->Snapshot().attach.has_value()) return;
  std::set<std::string> addresses, names;
  for (const Disk& disk : disks) {
    EXPECT_FALSE(disk.location.empty());
    EXPECT_TRUE(addresses.insert(absl::StrCat(disk.location, "/", disk.facts.lun)).second);
    const std::string name = absl::StrCat(disk.page83, disk.serial_number, disk.facts.unique_id,
                                          disk.facts.eui, disk.facts.scsi_name);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_FALSE(absl::StrContains(absl::StrCat(disk.location, name), "{")) << name;
  }
}

TEST_P(NamedScenarioTest, ListDisksReturnsTheFactsThatTheScenarioGivesForItsDisks) {
  const CallContext context;
  const auto machine = Node(GetParam().name);
  std::map<uint32_t, Disk> disks;
  for (const Disk& disk : machine->Snapshot().disks) {
    disks[disk.number] = disk;
  }
  const std::unique_ptr<host::Host> node = NewSimulatedHost(*machine);
  host::DiskHost& host = node->disk();
  const std::vector<host::DiskDescription> descriptions = *host.ListDisks(context);
  for (const host::DiskDescription& description : descriptions) {
    const Disk& disk = disks.at(description.number);
    EXPECT_EQ(description.padded_serial_number, disk.serial_number);
    if (!disk.page83_error.has_value()) {
      EXPECT_EQ(description.page83, disk.page83.empty() ? disk.facts.eui : disk.page83);
    }
    EXPECT_EQ((csi_proxy::disk::DiskLocation{description.adapter, description.bus,
                                             description.target, description.lun_id}),
              host::ParseLocation(disk.location));
    const std::string& unique_id =
        disk.facts.scsi_name.empty() ? disk.facts.unique_id : disk.facts.scsi_name;
    if (!unique_id.empty()) {
      EXPECT_EQ(description.unique_id, unique_id);
    }
    EXPECT_EQ(description.eui, disk.facts.eui);
    EXPECT_EQ(static_cast<uint64_t>(description.size_bytes), disk.size_bytes);
    EXPECT_EQ(description.is_online, disk.online);
    EXPECT_EQ(description.is_read_only, disk.read_only);
    EXPECT_EQ(description.bus_type.empty(), disk.facts.bus_type == 0);
    EXPECT_EQ(description.has_windows(), IsBoot(disk));
  }
}

TEST(NamedScenariosTest, TheErrorForAnUnknownNameListsTheKnownNames) {
  EXPECT_THAT(
      LoadScenario("azure-scs", "scenario"),
      FailsWith(kInvalid, "scenario: no scenario is called azure-scs; there are default, "));
  EXPECT_FALSE(IsScenario("azure-scs"));
  EXPECT_EQ(NamedScenarios().front().name, "default");
}

TEST(AttachTest, TheCloudChoosesTheFirstFreePlace) {
  const auto node = Node("azure-scsi");
  EXPECT_TRUE(absl::EndsWith(Attached(*node).location, "Adapter 1 : Port 0 : Target 0 : LUN 0"));
  const Disk fifth = Attached(*node, 5);
  EXPECT_TRUE(absl::EndsWith(fifth.location, "Adapter 1 : Port 0 : Target 0 : LUN 5"));
  EXPECT_EQ(fifth.page83.substr(0, 8), "60022480");
  EXPECT_EQ(fifth.page83.size(), 32u);
  EXPECT_TRUE(absl::EndsWith(Attached(*node).location, "LUN 1"));
  proto::AttachDiskRequest request;
  request.mutable_disk()->set_size_bytes(kGiB);
  request.mutable_disk()->set_number(20);
  request.set_place(5);
  proto::AttachDiskResponse response;
  EXPECT_THAT(CallAdmin(*node, "AttachDisk", request, &response),
              FailsWith(kExists, "place: another disk is at 5"));
}

TEST(AttachTest, ARequestsPropertiesOverrideTheCloudsDefaults) {
  const auto node = Node("ec2-nitro-2022");
  proto::AttachDiskRequest request;
  request.set_choose_number(true);
  request.mutable_disk()->set_size_bytes(kGiB);
  request.mutable_disk()->set_serial_number("vol0123456789abcdef0_00000001.");
  proto::AttachDiskResponse response;
  ASSERT_THAT(CallAdmin(*node, "AttachDisk", request, &response), IsOk());
  const Disk disk = node->Snapshot().disks.back();
  EXPECT_EQ(disk.serial_number, "vol0123456789abcdef0_00000001.");
  EXPECT_EQ(disk.facts.bus_type, 17);
}

TEST(AttachTest, ACopyIsOfflineBesideItsOriginal) {
  const auto node = Node("snapshot-clone");
  proto::AttachDiskRequest request;
  request.set_choose_number(true);
  request.set_copy_of(1);
  proto::AttachDiskResponse response;
  ASSERT_THAT(CallAdmin(*node, "AttachDisk", request, &response), IsOk());
  const std::vector<Disk> disks = node->Snapshot().disks;
  EXPECT_FALSE(disks.back().online);
  EXPECT_EQ(disks.back().facts.offline_reason, proto::OFFLINE_COLLISION);
  EXPECT_EQ(disks.back().partitions[1].volume->id, disks[1].partitions[1].volume->id);
  EXPECT_NE(disks.back().page83, disks[1].page83);
  ASSERT_THAT(node->DetachDisk(1), IsOk());
  EXPECT_THAT(CallAdmin(*node, "AttachDisk", request, &response),
              FailsWith(kNotFound, "there is no disk 1"));
}

TEST(AttachTest, AzureNvmeDisksHaveTheSameLocationAndDifferentLuns) {
  const auto node = Node("azure-nvme");
  const Disk disk = Attached(*node);
  EXPECT_EQ(disk.location, node->Snapshot().disks[0].location);
  EXPECT_EQ(disk.facts.lun, 1u);
  EXPECT_EQ(disk.facts.eui.size(), 32u);
  EXPECT_EQ(disk.serial_number.size(), 40u);
  EXPECT_TRUE(absl::EndsWith(disk.serial_number, "."));
  EXPECT_EQ(Attached(*node).facts.lun, 2u);
}

TEST(AttachTest, AnArrivingDiskAppearsAtARebootButNotAtARescan) {
  const auto node = Node(
      "attach { arrival_ms: 3600000 } disk { number: 4 size_bytes: 1073741824 "
      "arriving: true } disk { number: 5 size_bytes: 1073741824 }");
  const auto seen = [&] {
    return node->core()->Change([](NodeState& state) -> absl::StatusOr<size_t> {
      Rescan(state);
      return VisibleDisks(state).size();
    });
  };
  EXPECT_THAT(seen(), Yields(1u));
  EXPECT_TRUE(StateToProto(node->Snapshot()).disk(0).arriving());
  Attached(*node);
  EXPECT_THAT(seen(), Yields(1u));
  node->Reboot();
  EXPECT_THAT(seen(), Yields(3u));
}

TEST(AttachTest, AnAttachedDiskArrivesWithoutARescan) {
  const auto node = Node("attach { arrival_ms: 1 }");
  Attached(*node);
  const absl::Time deadline = absl::Now() + absl::Minutes(2);
  bool is_seen = false;
  while (!is_seen && absl::Now() < deadline) {
    is_seen = *node->core()->Change([](NodeState& state) -> absl::StatusOr<bool> {
      return FindVisibleDisk(state, 0) != nullptr;
    });
  }
  EXPECT_TRUE(is_seen);
}

// Readers copy the page's scenarios, behaviours and faults, so each of them must load.
TEST(SimulatorReadmeTest, EveryScenarioOfTheReadmeLoads) {
  std::ifstream file(SIMULATOR_README);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::vector<std::string> texts = absl::StrSplit(page, "```textproto\n");
  ASSERT_GE(texts.size(), size_t{4}) << SIMULATOR_README;
  for (size_t i = 1; i < texts.size(); ++i) {
    const std::string text = texts[i].substr(0, texts[i].find("```"));
    EXPECT_THAT(LoadScenario(text, "README.md"), IsOk()) << text;
  }
}

}  // namespace
}  // namespace csi_proxy::machine::simulator

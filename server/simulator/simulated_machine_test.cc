// Tests that the host sees the changes of the simulated machine's administrator.
#include <map>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "server/simulator/scenario.h"
#include "server/simulator/simulated_host.h"
#include "server/simulator/storage.h"

namespace csi_proxy {
namespace {

using machine::simulator::LoadScenario;
using machine::simulator::Machine;

TEST(SimulatedMachineTest, TheHostActsOnWhatTheAdministratorHas) {
  auto loaded = LoadScenario("disk { number: 3 size_bytes: 1073741824 }", "test");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  std::shared_ptr<Machine> machine = *std::move(loaded);
  const std::unique_ptr<host::Host> host = NewSimulatedHost(*machine);
  const CallContext context;
  EXPECT_TRUE(host->disk().InitializeGpt(context, 3).ok());
  EXPECT_EQ(machine->Snapshot().disks.at(0).partitions.size(), 1u);
  ASSERT_TRUE(machine->DetachDisk(3).ok());
  EXPECT_TRUE(absl::IsNotFound(host->disk().IsOnline(context, 3).status()));
}

TEST(SimulatedMachineTest, AScenarioThatCannotBeIsNamed) {
  const absl::Status status = LoadScenario("disk { number: ", "my.textproto").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "my.textproto:1:")) << status;
}

TEST(SimulatedMachineTest, AnEmptyScenarioIsAnEmptyNode) {
  auto machine = LoadScenario("", "empty");
  ASSERT_TRUE(machine.ok()) << machine.status();
  EXPECT_TRUE((*machine)->Snapshot().disks.empty());
  machine = LoadScenario("default", "default");
  ASSERT_TRUE(machine.ok()) << machine.status();
  EXPECT_FALSE((*machine)->Snapshot().disks.empty());
}

// Calls must return every fact that a scenario gives for its disks.
TEST(SimulatedMachineTest, EachScenariosDisksAreSeenAsDescribed) {
  const CallContext context;
  for (const machine::simulator::NamedScenario& scenario : machine::simulator::NamedScenarios()) {
    SCOPED_TRACE(scenario.name);
    const auto machine = LoadScenario(scenario.name, "test");
    ASSERT_TRUE(machine.ok()) << machine.status();
    std::map<uint32_t, machine::simulator::Disk> disks;
    for (const machine::simulator::Disk& disk : (*machine)->Snapshot().disks) {
      disks[disk.number] = disk;
    }
    const std::unique_ptr<host::Host> node = NewSimulatedHost(**machine);
    host::DiskHost& host = node->disk();
    const std::vector<host::DiskIdentity> identities = *host.ListDiskIdentities(context);
    for (const host::DiskIdentity& identity : identities) {
      const machine::simulator::Disk& disk = disks.at(identity.disk_number);
      EXPECT_EQ(identity.serial_number, disk.serial_number);
      if (disk.page83_error.has_value()) continue;
      EXPECT_EQ(identity.page83, disk.page83.empty() ? disk.facts.eui : disk.page83);
    }
    const std::vector<host::DiskLocationText> locations = *host.ListDiskLocations(context);
    for (const host::DiskLocationText& location : locations) {
      EXPECT_EQ(location.location, disks.at(location.disk_number).location);
    }
    const std::vector<host::DiskDescription> descriptions = *host.ListDisks(context);
    for (const host::DiskDescription& description : descriptions) {
      const machine::simulator::Disk& disk = disks.at(description.disk_number);
      const std::string& unique_id =
          disk.facts.scsi_name.empty() ? disk.facts.unique_id : disk.facts.scsi_name;
      if (!unique_id.empty()) {
        EXPECT_EQ(description.unique_id, unique_id);
      }
      EXPECT_EQ(description.eui, disk.facts.eui);
      EXPECT_EQ(description.size_bytes, disk.size_bytes);
      EXPECT_EQ(description.is_online, disk.online);
      EXPECT_EQ(description.is_read_only, disk.read_only);
      EXPECT_EQ(description.bus_type.empty(), disk.facts.bus_type == 0);
      EXPECT_EQ(description.has_windows(), machine::simulator::IsBoot(disk));
    }
  }
}

}  // namespace
}  // namespace csi_proxy

// The simulated machine, opened: what its administrator does the host sees.
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "server/node/opened_machine.h"

namespace csi_proxy {
namespace {

TEST(SimulatedMachineTest, TheHostActsOnWhatTheAdministratorHas) {
  absl::StatusOr<OpenedMachine> machine =
      OpenSimulatedMachine("disk { number: 3 size_bytes: 1073741824 }", "test");
  ASSERT_TRUE(machine.ok()) << machine.status();
  EXPECT_EQ(machine->processes, nullptr);
  const CallContext context;
  EXPECT_TRUE(machine->host->disk().InitializeGpt(context, 3).ok());
  EXPECT_EQ(machine->simulated->Snapshot().disks.at(0).partitions.size(), 1u);
  ASSERT_TRUE(machine->simulated->DetachDisk(3).ok());
  EXPECT_TRUE(absl::IsNotFound(machine->host->disk().IsOnline(context, 3).status()));
}

TEST(SimulatedMachineTest, AScenarioThatCannotBeIsNamed) {
  const absl::Status status = OpenSimulatedMachine("disk { number: ", "my.textproto").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "my.textproto:1:")) << status;
}

TEST(SimulatedMachineTest, AnEmptyScenarioIsAnEmptyNode) {
  absl::StatusOr<OpenedMachine> machine = OpenSimulatedMachine("", "empty");
  ASSERT_TRUE(machine.ok()) << machine.status();
  EXPECT_TRUE(machine->simulated->Snapshot().disks.empty());
  machine = OpenSimulatedMachine();
  ASSERT_TRUE(machine.ok()) << machine.status();
  EXPECT_FALSE(machine->simulated->Snapshot().disks.empty());
}

}  // namespace
}  // namespace csi_proxy

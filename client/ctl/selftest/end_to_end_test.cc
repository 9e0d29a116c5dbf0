// Runs `csi-proxyctl selftest` against the service.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/ctl/selftest/selftest.pb.h"
#include "integration/support/node_admin.h"
#include "integration/support/server_process.h"

namespace csi_proxy::integration {
namespace {

using ctl::selftest::Report;
using ctl::selftest::StepReport;
using testing::HasSubstr;
using testing::Not;

using Flags = std::vector<std::string>;

// The flags that request every step.
const Flags kEverything = {"--disk=1",
                           "--restart-service=MSiSCSI",
                           "--iscsi-portal=10.0.0.5:3260",
                           "--iscsi-iqn=iqn.2026-01.example.storage:open",
                           R"(--smb-share=\\fileserver.example\data)",
                           R"(--smb-username=EXAMPLE\storage)"};

Flags With(Flags flags, const std::string& flag) {
  flags.push_back(flag);
  return flags;
}

struct Outcome {
  int exit_code;
  std::string output;  // Standard output and standard error.
};

class SelftestTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = ServerProcess::Start();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // Prints the results of all runs if the test has failed.
  void TearDown() override {
    if (HasFailure()) std::cout << told_ << "the service:\n" << server_->Log();
  }

  // Runs csi-proxyctl.
  Outcome Ctl(const Flags& arguments) {
    Flags command = {CSI_PROXYCTL_BINARY, "--socket-dir=" + server_->directory()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const std::string log = absl::StrCat(server_->directory(), "/ctl", ++runs_, ".log");
    auto child = ChildProcess::Start(command, log);
    EXPECT_TRUE(child.ok()) << child.status();
    const int exit_code = child.ok() ? (*child)->Wait(absl::Seconds(100)) : -1;
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    return {exit_code, text.str()};
  }

  // Runs the selftest with a Windows service that the simulated node has, and reads its report.
  Outcome Selftest(const Flags& flags) {
    Flags arguments = {"selftest", "--service=RpcSs", "-o", "json"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Outcome run = Ctl(arguments);
    Report report;
    steps_.clear();
    if (absl::StartsWith(run.output, "{")) {
      EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(run.output, &report).ok())
          << run.output;
    }
    absl::StrAppend(&told_, "run ", runs_, " ended with ", run.exit_code, "\n");
    if (report.steps().empty()) absl::StrAppend(&told_, run.output);
    for (const StepReport& step : report.steps()) {
      steps_[step.name()] = step;
      if (step.result() == ctl::selftest::OK) continue;
      absl::StrAppend(&told_, "  ", step.name(), ": ", ctl::selftest::Result_Name(step.result()),
                      " ", step.detail(), "\n");
    }
    report_ = std::move(report);
    return run;
  }

  ctl::selftest::Result ResultOf(const std::string& step) { return steps_[step].result(); }
  std::string DetailOf(const std::string& step) { return steps_[step].detail(); }

  // Returns the node's state without one disk and without counters.
  std::string NodeBeside(uint32_t disk) {
    simulated::Node node = server_->Dump();
    for (int i = node.disk_size(); i-- > 0;) {
      if (node.disk(i).number() == disk) node.mutable_disk()->DeleteSubrange(i, 1);
    }
    node.clear_volumes_made();
    return node.DebugString();
  }

  // Returns the node's state without the values that WMI has cached, which reading may refresh.
  std::string NodeButCaches() {
    simulated::Node node = server_->Dump();
    for (simulated::Disk& disk : *node.mutable_disk()) {
      for (simulated::Partition& partition : *disk.mutable_partition()) {
        partition.clear_uncached();
      }
    }
    return node.DebugString();
  }

  // Makes an operation of the node fail from now on.
  void Fail(const char* operation) {
    const absl::Status injected = server_->InjectFault(FaultRule(operation, 0));
    ASSERT_TRUE(injected.ok()) << injected;
  }

  std::unique_ptr<ServerProcess> server_;
  int runs_ = 0;
  std::string told_;
  Report report_;
  std::map<std::string, StepReport> steps_;
};

TEST_F(SelftestTest, SelftestPassesOnARawDiskAndChangesNothingElse) {
  const std::string before = NodeBeside(1);
  const Outcome result = Selftest({"--disk=1", "--note=Windows Server 2022, 20348.2113"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(report_.failed() + report_.skipped(), 0);
  EXPECT_GE(report_.passed(), 20);
  EXPECT_EQ(report_.note(), "Windows Server 2022, 20348.2113");
  EXPECT_EQ(report_.disk(), 1);
  EXPECT_THAT(Ctl({"--version"}).output,
              testing::StartsWith("csi-proxyctl " + report_.product_version()));
  EXPECT_NE(report_.product_version(), "");
  EXPECT_EQ(NodeBeside(1), before);
  const simulated::Disk disk = server_->Dump().disk(1);
  EXPECT_EQ(disk.partition(1).volume().file_system(), "NTFS");
  EXPECT_FALSE(disk.offline());
}

TEST_F(SelftestTest, WithAllFlagsEveryStepRunsAndCallsItsDeclaredRpcs) {
  const std::string file = server_->directory() + "/password";
  std::ofstream(file) << "correct horse\n";
  const std::string before = NodeBeside(1);
  const Outcome result = Selftest(With(kEverything, "--smb-password-file=" + file));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(report_.passed(), report_.steps_size());
  EXPECT_EQ(NodeBeside(1), before);
  std::set<std::string> said, called;
  for (const StepReport& step : report_.steps()) {
    said.insert(step.rpcs().begin(), step.rpcs().end());
  }
  for (const auto& latency : report_.latencies()) {
    called.insert(latency.rpc());
    EXPECT_GE(latency.calls(), 1);
    EXPECT_GT(latency.fastest_ms(), 0);
    EXPECT_LE(latency.fastest_ms(), latency.median_ms());
    EXPECT_LE(latency.median_ms(), latency.slowest_ms());
  }
  EXPECT_EQ(said, called);
}

TEST_F(SelftestTest, ThePasswordIsReadFromTheEnvironmentAndNeverPrinted) {
  // Never unset, because no other test reads the variable.
  static char password[] = "CSI_PROXY_SMB_PASSWORD=Wr0ngSecret";
  ASSERT_EQ(putenv(password), 0);
  const Outcome result = Selftest(With(kEverything, "--verbose"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, Not(HasSubstr("Wr0ngSecret")));
  EXPECT_THAT(result.output, HasSubstr("step smb-map\n"));
  EXPECT_THAT(result.output, HasSubstr("smb.NewSmbGlobalMapping: FAILED_PRECONDITION"));
}

TEST_F(SelftestTest, SelftestRefusesADiskInUse) {
  const std::string before = server_->Dump().DebugString();
  EXPECT_EQ(Selftest({}).exit_code, 2);
  EXPECT_EQ(Selftest({"--disk"}).exit_code, 2);
  EXPECT_EQ(Selftest({"--disk", "1"}).exit_code, 2);
  EXPECT_EQ(Selftest({"--disk=0"}).exit_code, 1);
  EXPECT_EQ(ResultOf("free"), ctl::selftest::FAILED);
  // The flag must not help, because the system volume is on this disk.
  EXPECT_EQ(Selftest({"--disk=0", "--disk-is-mine"}).exit_code, 1);
  EXPECT_THAT(DetailOf("free"), HasSubstr("holds the working directory"));
  EXPECT_EQ(ResultOf("partition"), ctl::selftest::SKIPPED);
  EXPECT_EQ(ResultOf("service"), ctl::selftest::OK) << "what needs no disk goes on";
  EXPECT_EQ(Selftest({"--disk=77"}).exit_code, 1);
  EXPECT_EQ(ResultOf("disk"), ctl::selftest::FAILED);
  EXPECT_EQ(server_->Dump().DebugString(), before);
}

TEST_F(SelftestTest, SelftestUsesAFormattedDiskOnlyWithTheDiskIsMineFlag) {
  ASSERT_EQ(Selftest({"--disk=1"}).exit_code, 0);
  const std::string used = NodeButCaches();
  EXPECT_EQ(Selftest({"--disk=1"}).exit_code, 1);
  EXPECT_THAT(DetailOf("free"), HasSubstr("--disk-is-mine"));
  EXPECT_EQ(NodeButCaches(), used);
  // An offline disk shows its partitions, but not its volumes.
  ASSERT_EQ(Ctl({"disk", "set-disk-state", "--disk-number=1", "--is-online=false"}).exit_code, 0);
  EXPECT_EQ(Selftest({"--disk=1"}).exit_code, 1);
  EXPECT_EQ(ResultOf("free"), ctl::selftest::FAILED);
  EXPECT_TRUE(server_->Dump().disk(1).offline()) << "as it was found";
  const Outcome owned = Selftest({"--disk=1", "--disk-is-mine"});
  EXPECT_EQ(owned.exit_code, 0) << owned.output;
  EXPECT_TRUE(server_->Dump().disk(1).offline());
}

TEST_F(SelftestTest, AnOfflineReadOnlyDiskIsBroughtOnlineAndTakenOfflineAgain) {
  const Outcome result = Selftest({"--disk=3"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(DetailOf("free"), HasSubstr("was offline"));
  EXPECT_TRUE(server_->Dump().disk(3).offline());
}

TEST_F(SelftestTest, AFailedStepSkipsOnlyTheStepsThatDependOnIt) {
  const std::string before = NodeBeside(1);
  Fail("win32.SetMountPoint");
  EXPECT_EQ(Selftest({"--disk=1"}).exit_code, 1);
  EXPECT_EQ(ResultOf("mount"), ctl::selftest::FAILED);
  EXPECT_THAT(DetailOf("mount"), HasSubstr("volume.MountVolume: INTERNAL: "));
  for (const char* skipped : {"volume-of-path", "closest-volume", "link", "unmount", "release"}) {
    EXPECT_EQ(ResultOf(skipped), ctl::selftest::SKIPPED) << skipped;
  }
  for (const char* taken :
       {"format", "directories", "hostile-paths", "resize", "bios", "clean-up"}) {
    EXPECT_EQ(ResultOf(taken), ctl::selftest::OK) << taken << ": " << DetailOf(taken);
  }
  EXPECT_EQ(report_.failed(), 1);
  simulated::ClearFaultsResponse cleared;
  ASSERT_TRUE(server_->Admin("ClearFaults", simulated::ClearFaultsRequest(), &cleared).ok());
  EXPECT_EQ(NodeBeside(1), before);
}

TEST_F(SelftestTest, TheReportNamesChangesThatCouldNotBeUndone) {
  // UnmountVolume can end a mount with either of these operations, so both must fail.
  Fail("win32.DeleteMountPoint");
  Fail("win32.DeleteReparsePoint");
  ASSERT_TRUE(server_
                  ->InjectFault(R"(operation: 'win32.Delete' code: 'INTERNAL'
                      resource: 'C:\\var\\lib\\kubelet\\csi-proxy-selftest\\mount')")
                  .ok());
  EXPECT_EQ(Selftest({"--disk=1"}).exit_code, 1);
  EXPECT_EQ(ResultOf("clean-up"), ctl::selftest::FAILED);
  EXPECT_THAT(DetailOf("clean-up"), HasSubstr("left behind: mount: volume.UnmountVolume"));
  // The next run explains why it fails.
  EXPECT_EQ(Selftest({"--disk=1"}).exit_code, 1);
  EXPECT_THAT(DetailOf("work-directory"), HasSubstr("exists already"));
}

TEST_F(SelftestTest, TableOutputShowsEachStepAndTheTotals) {
  const Outcome result = Ctl({"selftest", "--service=RpcSs", "--disk=1", "--output=table"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("\nSTEP "));
  EXPECT_THAT(result.output, HasSubstr("\nsmb-map          skipped  0.0 "));
  EXPECT_THAT(result.output, HasSubstr(" 0 failed, 0 skipped, "));
}

TEST_F(SelftestTest, SelftestReportsAMissingServiceAsUnreachable) {
  server_->Stop(absl::Seconds(20));
  EXPECT_EQ(Selftest({"--disk=1"}).exit_code, 3);
}

}  // namespace
}  // namespace csi_proxy::integration

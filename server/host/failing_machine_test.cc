// An operation reports the failure of any call of the machine, and names what it was doing.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "server/host/operations_testing.h"
#include "server/simulator/core.h"

namespace csi_proxy::host {
namespace {

// The failures that no operation reports, because it succeeds without the call.
const std::set<std::pair<std::string, std::string>> kTolerated = {
    // A disk that does not answer is listed with WMI's values.
    {"identities", "win32.Control"},
    {"disks", "win32.Control"},
    {"describe", "win32.Control"},
    // A volume that does not answer is skipped, because it may be disappearing.
    {"read-only", "win32.Control"},
    // A volume that does not answer counts as lying on no disk.
    {"volumes", "win32.Control"},
    {"volumes of 1", "win32.Control"},
    {"no volumes of 1", "win32.Control"},
    {"make writable", "win32.Control"},
    // A folder that cannot be checked counts as the volume's.
    {"mount points", "win32.Open"},
    {"mount points", "win32.GetAttributes"},
    {"mount points", "win32.ReadReparsePoint"},
    // A volume that does not report whether it takes writes is left alone.
    {"make writable", "win32.GetFileSystem"},
    // The read-only flag is cleared again once the disk is online.
    {"online", "win32.Control"},
    // A disk whose layout cannot be read promises nothing.
    {"promised volumes", "win32.Control"},
    // A disk that does not report its new size keeps the old one.
    {"supported", "win32.Control"},
    // A volume that cannot be flushed is unmounted nevertheless.
    {"remove mounted", "win32.Flush"},
    // The reparse point is removed even if the mount manager refuses.
    {"remove mounted", "win32.DeleteMountPoint"},
    {"unmount", "win32.DeleteMountPoint"},
    // A disk counts as this node's if its device does not report its number.
    {"layout", "win32.Control"},
    {"offline", "win32.Control"},
    // A portal that does not answer is listed with the targets known from before.
    {"discover", "wmi.Invoke/*"},
    // The link's target cannot be checked.
    {"read link", "win32.Open"},
    {"read link", "win32.GetAttributes"},
    {"read link", "win32.ReadReparsePoint"},
    // An entry that cannot be read is skipped, and the answer is marked incomplete.
    {"links", "win32.Open"},
    {"links", "win32.List"},
    {"links", "win32.GetAttributes"},
    {"links", "win32.ReadReparsePoint"},
    {"links", "win32.GetFileSystem"},
};

// The texts by which errors name an operation; VOLUME stands for a volume's name. An error that
// occurs while a path is resolved names the path instead.
const std::set<std::string> kDoing = {
    R"(C:\)",
    "asking for service Base: ",
    "asking portal 10.0.0.5:3260 for its targets: ",
    "asking for the attributes of disk 1: ",
    "asking for the folders of volume VOLUME: ",
    "asking for the attributes of disk 3: ",
    "asking for the attributes of disk 5: ",
    "asking for the attributes of disk 6: ",
    "asking for the number of disk 2: ",
    "asking for the number of disk 6: ",
    "asking for the number of disk 7: ",
    "asking for the dirty bit of volume VOLUME: ",
    "asking for the health of volume VOLUME: ",
    "asking for the size of disk 1: ",
    "asking for the size of disk 2: ",
    "bringing disk 3 online: ",
    "bringing the partitions of disk 2 online: ",
    "clearing the read-only flag of disk 6: ",
    "connecting target iqn.x:open: ",
    "creating a partition on disk 5: ",
    R"(creating directory C:\var\lib\kubelet\a\b: )",
    R"(creating link C:\var\lib\kubelet\new: )",
    "disconnecting target iqn.x:joined: ",
    "dismounting volume VOLUME: ",
    R"(emptying C:\var\lib\kubelet\pods: )",
    "finding disk 1: ",
    "finding disk 3: ",
    "finding disk 5: ",
    "finding the iSCSI portal: ",
    "finding the iSCSI target: ",
    R"(finding the mapping of \\srv\mapped: )",
    "flushing volume VOLUME: ",
    "formatting volume VOLUME: ",
    "initialising disk 1: ",
    "listing disks: ",
    "listing iSCSI portals: ",
    "listing iSCSI targets: ",
    "listing partitions of disk 1: ",
    "listing partitions of disk 2: ",
    "listing partitions of disk 7: ",
    "listing the disks of target iqn.x:joined: ",
    "listing the mappings: ",
    "listing the sessions of target iqn.x:joined: ",
    "listing volumes: ",
    "listing what depends on service Base: ",
    "locating volume VOLUME: asking volume VOLUME for its disks: ",
    R"(mapping \\srv\new: )",
    "making disk 5 read-only: ",
    "making the session with target iqn.x:joined persistent: ",
    R"(measuring C:\var\lib\kubelet\link: )",
    "measuring volume VOLUME: ",
    R"(mounting volume VOLUME at C:\var\lib\kubelet\empty: )",
    "reading disk 1: ",
    "reading disk 2: ",
    "reading the SMBIOS table: ",
    "reading volume VOLUME: ",
    "registering portal 10.0.0.6:3260: ",
    R"(removing C:\var\lib\kubelet\empty: )",
    R"(removing C:\var\lib\kubelet\lost: )",
    R"(removing C:\var\lib\kubelet\mounted: )",
    R"(removing C:\var\lib\kubelet\pods: )",
    "removing portal 10.0.0.5:3260: ",
    R"(removing the mapping of \\srv\mapped: )",
    "rescanning: ",
    "resizing volume VOLUME: ",
    "setting the mutual CHAP secret: ",
    "starting service Idle: ",
    "stopping service Upper: ",
    "taking disk 1 offline: ",
};

// Makes one call that matches `calls` fail, after `others` that succeed.
void FailAt(Machine& node, const std::string& calls, uint32_t others) {
  FaultRule rule;
  rule.operation = calls;
  if (others > 0) {
    rule.times = others;
    rule.latency = absl::Nanoseconds(1);
    ASSERT_THAT(node.InjectFault(rule), IsOk());
  }
  rule.times = 1;
  rule.latency = absl::ZeroDuration();
  rule.code = absl::StatusCode::kInternal;
  // ERROR_IO_DEVICE, WBEM_E_FAILED.
  rule.error.code = absl::StartsWith(calls, "wmi.") ? 0x80041001 : 1117;
  ASSERT_THAT(node.InjectFault(rule), IsOk());
}

TEST(FailingMachineTest, EveryFailureIsTold) {
  const NodeState prepared = PreparedNode();
  std::vector<std::string> kinds = {"wmi.Query/*", "wmi.Associators/*", "wmi.Invoke/*"};
  for (const absl::string_view call : machine::simulator::Operations()) {
    if (absl::StartsWith(call, "win32.")) kinds.emplace_back(call);
  }
  std::set<std::string> said;
  for (const Operation& operation : HostOperations()) {
    int struck = 0;
    for (const std::string& kind : kinds) {
      for (uint32_t others = 0;; ++others) {
        SCOPED_TRACE(absl::StrCat(operation.name, ", ", kind, " after ", others, " others"));
        const std::unique_ptr<Machine> node = *Machine::Create(prepared);
        FailAt(*node, kind, others);
        const absl::Status status =
            operation.run(*NewSimulatedHost(*node), CallContext().WithTimeout(absl::Seconds(5)));
        if (!node->Snapshot().faults.empty()) {
          EXPECT_THAT(status, IsOk());
          break;
        }
        ++struck;
        // A path that cannot be opened at once is walked.
        if (status.ok()) {
          EXPECT_TRUE(kind == "win32.OpenBelow" || kTolerated.contains({operation.name, kind}));
          continue;
        }
        const std::string message = absl::StrReplaceAll(
            status.message(),
            {{kVolume.ToString(), "VOLUME"}, {TestVolume(6).ToString(), "VOLUME"}});
        const auto doing = std::find_if(kDoing.begin(), kDoing.end(), [&](const std::string& text) {
          return absl::StartsWith(message, text);
        });
        if (doing == kDoing.end()) {
          ADD_FAILURE() << "does not say what was being done: " << status;
        } else {
          said.insert(*doing);
        }
        EXPECT_TRUE(absl::StrContains(status.message(), "1117") ||
                    absl::StrContains(status.message(), "0x45d") ||
                    absl::StrContains(status.message(), "0x80041001"))
            << status;
      }
    }
    EXPECT_GT(struck, 0) << operation.name;
  }
  EXPECT_EQ(said, kDoing);
}

// A method may run and still fail; only its return value shows that.
TEST(FailingMachineTest, EveryReturnValueIsTold) {
  const NodeState prepared = PreparedNode();
  int struck = 0;
  for (const Operation& operation : HostOperations()) {
    const std::unique_ptr<Machine> node = *Machine::Create(prepared);
    FaultRule rule;
    rule.operation = "wmi.Invoke/*";
    rule.times = 1;
    rule.code = absl::StatusCode::kInternal;
    rule.error.code = 31;
    ASSERT_THAT(node->InjectFault(rule), IsOk());
    const absl::Status status = operation.run(*NewSimulatedHost(*node), CallContext());
    if (!node->Snapshot().faults.empty()) continue;
    ++struck;
    if (kTolerated.contains({operation.name, "wmi.Invoke/*"})) continue;
    const std::string message = absl::StrReplaceAll(
        status.message(), {{kVolume.ToString(), "VOLUME"}, {TestVolume(6).ToString(), "VOLUME"}});
    EXPECT_TRUE(std::any_of(kDoing.begin(), kDoing.end(), [&](absl::string_view doing) {
      return absl::ConsumeSuffix(&doing, ": ") &&
             absl::StartsWith(message, absl::StrCat(doing, " failed: "));
    })) << status;
    EXPECT_THAT(status, FailsWith(kInternal, "(31)"));
  }
  EXPECT_GT(struck, 15);
}

}  // namespace
}  // namespace csi_proxy::host

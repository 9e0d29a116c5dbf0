// Injects faults for each rpc, and for each call of the machine that the rpc needs. The rpc must
// fail with the fault's error, except in the cases of kTolerated.
#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/groups/rpcs_testing.h"
#include "server/simulator/scenario.h"

namespace csi_proxy::groups {
namespace {

using machine::simulator::FaultRule;
using machine::simulator::StateToProto;

// Returns the rpc of a row of Rpcs().
std::string MethodOf(const Rpc& rpc) {
  return std::string(absl::string_view(rpc.name).substr(0, absl::string_view(rpc.name).find(' ')));
}

FaultRule Injected(const std::string& operation, uint32_t times) {
  FaultRule rule;
  rule.operation = operation;
  rule.times = times;
  rule.code = absl::StatusCode::kDataLoss;
  rule.error = {4711, "as injected"};
  return rule;
}

// Returns true if a rule of Injected() was applied to a call.
bool Struck(const absl::Status& status) {
  return absl::IsDataLoss(status) && absl::StrContains(status.message(), "as injected");
}

TEST(FailingCallsTest, AnInjectedFaultFailsOnlyTheNamedRpc) {
  const machine::simulator::NodeState prepared = host::PreparedNode();
  std::set<std::string> methods;
  for (const absl::string_view operation : machine::simulator::Operations()) {
    if (machine::simulator::MatchesOperation("*", operation)) methods.emplace(operation);
  }
  std::set<std::string> called;
  for (const Rpc& rpc : Rpcs()) {
    SCOPED_TRACE(rpc.name);
    const std::string method = MethodOf(rpc);
    called.insert(method);
    const std::string group = method.substr(0, method.find('.')) + ".*";
    for (const std::string& name : {method, group, std::string("*")}) {
      SCOPED_TRACE(name);
      Node node(prepared);
      ASSERT_TRUE(node.machine->InjectFault(Injected(name, 2)).ok());
      EXPECT_TRUE(Struck(rpc.call(node, CallContext())));
      EXPECT_TRUE(Struck(rpc.call(node, CallContext())));
      EXPECT_TRUE(node.machine->Snapshot().faults.empty());
      EXPECT_TRUE(rpc.call(node, CallContext()).ok());
    }
    Node node(prepared);
    for (const std::string& other : methods) {
      if (other == method) continue;
      ASSERT_TRUE(node.machine->InjectFault(Injected(other, 0)).ok());
    }
    EXPECT_TRUE(rpc.call(node, CallContext()).ok());
  }
  EXPECT_EQ(called, methods);
}

TEST(FailingCallsTest, ADelayedRpcEndsAtItsDeadlineAndChangesNothing) {
  Node node(host::PreparedNode());
  FaultRule slow = Injected("*", 0);
  slow.latency = absl::Hours(1);
  ASSERT_TRUE(node.machine->InjectFault(slow).ok());
  const std::string before = StateToProto(node.machine->Snapshot()).DebugString();
  for (const Rpc& rpc : Rpcs()) {
    const absl::Status hurried = rpc.call(node, CallContext().WithTimeout(absl::Milliseconds(2)));
    EXPECT_TRUE(absl::IsDeadlineExceeded(hurried)) << rpc.name << ": " << hurried;
  }
  EXPECT_EQ(StateToProto(node.machine->Snapshot()).DebugString(), before);
}

TEST(FailingCallsTest, AFaultsResourceMatchesNumbersAndTextsButNoSecret) {
  Node node(host::PreparedNode());
  const struct {
    const char* method;
    std::string resource;
  } rows[] = {
      {"volume.MountVolume", kVolume.ToString()},
      {"volume.MountVolume", absl::AsciiStrToUpper(Below("empty"))},
      {"disk.PartitionDisk", "1"},
      {"iscsi.ConnectTarget", "10.0.0.5"},
      {"iscsi.ConnectTarget", "iqn.x:open"},
      {"storage.StageVolume", Below("staged")},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(absl::StrCat(row.method, " ", row.resource));
    const auto rpc = std::ranges::find_if(
        Rpcs(), [&](const Rpc& each) { return absl::string_view(each.name) == row.method; });
    ASSERT_NE(rpc, Rpcs().end());
    FaultRule rule = Injected(row.method, 1);
    rule.resource = row.resource;
    ASSERT_TRUE(node.machine->InjectFault(rule).ok());
    EXPECT_TRUE(Struck(rpc->call(node, CallContext())));
    rule.resource = "another";
    ASSERT_TRUE(node.machine->InjectFault(rule).ok());
    EXPECT_FALSE(Struck(rpc->call(node, CallContext())));
    node.machine->Reset();
  }
  // A fault rule cannot select a call by its secret.
  FaultRule rule = Injected("iscsi.SetMutualChapSecret", 1);
  rule.resource = "twelve-bytes";
  ASSERT_TRUE(node.machine->InjectFault(rule).ok());
  EXPECT_TRUE(
      node.services->iscsi.service->SetMutualChapSecret(CallContext(), {"twelve-bytes"}).ok());
}

// The rpcs that succeed although a call of the machine fails, each with that call.
const std::set<std::pair<std::string, std::string>> kTolerated = {
    // A disk or volume that does not answer the call is listed without the answer, or counts as
    // going away.
    {"disk.GetDiskNumberByName", "win32.Control"},
    {"disk.ListDiskIDs", "win32.Control"},
    {"disk.PartitionDisk", "win32.Control"},
    {"disk.PartitionDisk again", "win32.Control"},
    {"disk.SetDiskState", "win32.Control"},
    {"disk.SetDiskState of a read-only disk", "win32.Control"},
    {"storage.FormatVolume", "win32.Control"},
    {"storage.GetVolumeHealth", "win32.Control"},
    {"storage.ListDisks", "win32.Control"},
    {"volume.FormatVolume", "win32.Control"},
    {"storage.SetDiskReadOnly", "win32.Control"},
    {"storage.StageTarget", "win32.Control"},
    {"storage.StageTarget of a connected one", "win32.Control"},
    {"storage.StageVolume", "win32.Control"},
    {"storage.UnstageTarget", "win32.Control"},
    {"storage.UnstageVolume", "win32.Control"},
    {"volume.ListVolumesOnDisk", "win32.Control"},
    {"volume.ResizeVolume", "win32.Control"},
    {"volume.ResizeVolume to the maximum", "win32.Control"},
    // A volume is mounted even if it does not report its disk.
    {"volume.MountVolume", "win32.Control"},
    // A volume is flushed even if the mount manager does not report its mounts.
    {"volume.UnmountVolume", "win32.ListMountPoints"},
    {"volume.WriteVolumeCache", "win32.ListMountPoints"},
    // ListVolumeHealth lists the unknown facts.
    {"storage.ListVolumeHealth", "win32.Control"},
    {"storage.ListVolumeHealth", "win32.GetFileSystem"},
    {"storage.ListVolumeHealth", "wmi.Query/*"},
    // If a volume does not report whether it is writable or formatted, the call queries it again.
    {"disk.SetDiskState of a read-only disk", "win32.GetFileSystem"},
    {"storage.StageTarget", "win32.GetFileSystem"},
    {"storage.StageTarget of a connected one", "win32.GetFileSystem"},
    {"storage.StageVolume", "win32.GetFileSystem"},
    // A link is reported as a link even if its target cannot be read.
    {"filesystem.IsSymlink", "win32.GetAttributes"},
    {"filesystem.IsSymlink", "win32.Open"},
    {"filesystem.IsSymlink", "win32.ReadReparsePoint"},
    // A folder that cannot be read counts as a mount of the volume.
    {"storage.UnstageTarget", "win32.GetAttributes"},
    {"storage.UnstageTarget", "win32.Open"},
    {"storage.UnstageTarget", "win32.ReadReparsePoint"},
    {"storage.UnstageVolume", "win32.GetAttributes"},
    {"storage.UnstageVolume", "win32.Open"},
    {"storage.UnstageVolume", "win32.ReadReparsePoint"},
    // If the mount manager cannot end a mount, the call removes the mount's reparse point.
    {"storage.UnstageTarget", "win32.DeleteMountPoint"},
    {"storage.UnstageVolume", "win32.DeleteMountPoint"},
    {"volume.UnmountVolume", "win32.DeleteMountPoint"},
    // A volume is unmounted even if it cannot be flushed or its disk stays online.
    {"storage.UnstageTarget", "win32.Flush"},
    {"storage.UnstageTarget", "win32.ListMountPoints"},
    {"storage.UnstageTarget", "wmi.Associators/*"},
    {"storage.UnstageTarget", "wmi.Invoke/*"},
    {"storage.UnstageTarget", "wmi.Query/*"},
    {"storage.UnstageVolume", "win32.Flush"},
    {"storage.UnstageVolume", "win32.ListMountPoints"},
    {"storage.UnstageVolume", "wmi.Invoke/*"},
    {"storage.UnstageVolume", "wmi.Query/*"},
    {"volume.UnmountVolume", "win32.Flush"},
    // A disk of another tenant's session that cannot be checked counts as in use.
    {"storage.UnstageTarget", "win32.ListVolumes"},
    // A folder that cannot be deleted stays; only its mount or link has ended.
    {"storage.UnstageShare", "win32.Delete"},
    {"storage.UnstageTarget", "win32.Delete"},
    {"storage.UnstageVolume", "win32.Delete"},
    // Staging succeeds although the volume does not grow. ResizeVolume succeeds although it does
    // not extend the file system.
    {"storage.StageTarget", "win32.GetSpace"},
    {"storage.StageTarget of a connected one", "win32.GetSpace"},
    {"storage.StageTarget of a connected one", "wmi.Query/*"},
    {"storage.StageVolume", "win32.GetSpace"},
    {"storage.StageVolume", "wmi.Query/*"},
    {"volume.ResizeVolume", "win32.GetFileSystem"},
    {"volume.ResizeVolume", "win32.GetSpace"},
    {"volume.ResizeVolume to the maximum", "win32.GetFileSystem"},
    {"volume.ResizeVolume to the maximum", "win32.GetSpace"},
    // A failed removal of a mapping is repeated.
    {"storage.UnstageShare", "wmi.Invoke/*"},
    {"storage.UnstageShare", "wmi.Query/*"},
    // The initiator may know the target from an earlier answer of the portal.
    {"storage.StageTarget", "wmi.Invoke/*"},
    {"storage.StageTarget", "wmi.Query/*"},
    // The listing is marked incomplete.
    {"storage.ListMounts", "win32.GetAttributes"},
    {"storage.ListMounts", "win32.GetFileSystem"},
    {"storage.ListMounts", "win32.List"},
    {"storage.ListMounts", "win32.Open"},
    {"storage.ListMounts", "win32.ReadReparsePoint"},
    {"storage.ListSmbMappings", "win32.GetAttributes"},
    {"storage.ListSmbMappings", "win32.GetFileSystem"},
    {"storage.ListSmbMappings", "win32.List"},
    {"storage.ListSmbMappings", "win32.Open"},
    {"storage.ListSmbMappings", "win32.ReadReparsePoint"},
    // RemoveSmbGlobalMapping searches for links only for the log. UnstageShare repeats the search.
    {"smb.RemoveSmbGlobalMapping", "win32.GetAttributes"},
    {"smb.RemoveSmbGlobalMapping", "win32.List"},
    {"smb.RemoveSmbGlobalMapping", "win32.Open"},
    {"smb.RemoveSmbGlobalMapping", "win32.ReadReparsePoint"},
    {"storage.UnstageShare", "win32.GetAttributes"},
    {"storage.UnstageShare", "win32.List"},
    {"storage.UnstageShare", "win32.Open"},
    {"storage.UnstageShare", "win32.ReadReparsePoint"},
    // If the portal does not answer, the call returns the targets in its last answer.
    {"iscsi.DiscoverTargetPortal", "wmi.Invoke/*"},
    // If a new mapping's folder cannot be opened, the call only logs this. If a mapping's share
    // cannot be reached, the call replaces the mapping.
    {"smb.NewSmbGlobalMapping", "win32.Reach"},
    {"smb.NewSmbGlobalMapping again", "win32.Reach"},
    {"storage.StageShare of a mapped share", "win32.Reach"},
};

TEST(FailingCallsTest, RpcsSucceedOnlyDespiteToleratedFailures) {
  const machine::simulator::NodeState prepared = host::PreparedNode();
  // The last kind is a method that returns an error, although the call of WMI itself succeeds.
  std::vector<std::string> kinds = {"wmi.Query/*", "wmi.Associators/*", "wmi.Invoke/*",
                                    "wmi.Invoke/*"};
  for (const absl::string_view call : machine::simulator::Operations()) {
    if (absl::StartsWith(call, "win32.")) kinds.emplace(kinds.begin(), call);
  }
  std::set<std::pair<std::string, std::string>> tolerated;
  for (const Rpc& rpc : Rpcs()) {
    int struck = 0;
    for (size_t i = 0; i < kinds.size(); ++i) {
      const std::string& kind = kinds[i];
      for (uint32_t others = 0;; ++others) {
        SCOPED_TRACE(absl::StrCat(rpc.name, ", ", kind, " after ", others, " others"));
        Node node(prepared);
        FaultRule rule = Injected(kind, 1);
        // ERROR_IO_DEVICE, WBEM_E_FAILED, ERROR_GEN_FAILURE.
        rule.error = {i + 1 == kinds.size() ? 31 : kind[1] == 'm' ? 0x80041001 : 1117, ""};
        if (others > 0) {
          FaultRule earlier;
          earlier.operation = kind;
          earlier.times = others;
          earlier.latency = absl::Nanoseconds(1);
          ASSERT_TRUE(node.machine->InjectFault(earlier).ok());
        }
        ASSERT_TRUE(node.machine->InjectFault(rule).ok());
        const absl::Status status = rpc.call(node, CallContext().WithTimeout(absl::Seconds(10)));
        EXPECT_EQ(node.locks.size(), 0u);
        if (!node.machine->Snapshot().faults.empty()) {
          EXPECT_TRUE(status.ok()) << status;
          break;
        }
        ++struck;
        if (kind == "win32.OpenBelow") {
          EXPECT_TRUE(status.ok()) << "a path that cannot be opened at once is walked: " << status;
        } else if (status.ok()) {
          tolerated.emplace(rpc.name, kind);
        } else {
          // A volume that does not answer counts as going away. A link that cannot be followed
          // stays. Every other error names the operation or the path, and contains Windows' error.
          const std::string text(status.message());
          EXPECT_TRUE(absl::EndsWith(text, "Windows does not say if it works") ||
                      (absl::StartsWith(text, "the volume of disk ") &&
                       absl::EndsWith(text, " disappeared: repeat the call")) ||
                      (std::regex_search(
                           text, std::regex(R"((\w+ing[ :]|C:\\|^remote_path: ).*(: | failed))")) &&
                       std::regex_search(text, std::regex(R"(1117|0x45d|0x80041001|\(31\))"))))
              << status;
        }
      }
    }
    EXPECT_GT(struck, 0) << rpc.name;
  }
  EXPECT_THAT(tolerated, testing::ContainerEq(kTolerated));
}

}  // namespace
}  // namespace csi_proxy::groups

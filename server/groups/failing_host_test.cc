// Whichever operation of the host fails, the rpc that needed it fails with the same code and words.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/groups/deps.h"
#include "server/groups/handlers.h"
#include "server/host/operations_testing.h"
#include "server/simulator/named_faults.h"

namespace csi_proxy::groups {
namespace {

using host::kVolume;
using machine::simulated::Machine;

// The handlers of a node that is as PreparedNode().
struct Node {
  explicit Node(const machine::simulated::NodeState& state)
      : machine(*Machine::Create(state)), host(HostOver(*machine)) {
    deps.host = host.get();
    deps.locks = &locks;
    deps.roots = machine::simulated::Kubelet("").roots;
    disk = disk::NewDiskService(deps);
    filesystem = filesystem::NewFilesystemService(deps);
    iscsi = iscsi::NewIscsiService(deps);
    smb = smb::NewSmbService(deps);
    storage = storage::NewStorageService(deps);
    system = system::NewSystemService(deps);
    volume = volume::NewVolumeService(deps);
  }

  std::unique_ptr<Machine> machine;
  std::unique_ptr<host::Host> host;
  ResourceLocks locks;
  Deps deps;
  std::unique_ptr<disk::Service> disk;
  std::unique_ptr<filesystem::Service> filesystem;
  std::unique_ptr<iscsi::Service> iscsi;
  std::unique_ptr<smb::Service> smb;
  std::unique_ptr<storage::Service> storage;
  std::unique_ptr<system::Service> system;
  std::unique_ptr<volume::Service> volume;
};

struct Rpc {
  const char* name;
  std::function<absl::Status(Node&, const CallContext&)> call;
};

std::string Below(const std::string& rest) { return R"(C:\var\lib\kubelet\)" + rest; }

const std::vector<Rpc>& Rpcs() {
  using N = Node;
  using C = CallContext;
  static const auto* const kRpcs = new std::vector<Rpc>{
      {"ListDiskLocations", [](N& n, C c) { return n.disk->ListDiskLocations(c, {}).status(); }},
      {"PartitionDisk", [](N& n, C c) { return n.disk->PartitionDisk(c, {1}).status(); }},
      {"PartitionDisk again", [](N& n, C c) { return n.disk->PartitionDisk(c, {2}).status(); }},
      {"Rescan", [](N& n, C c) { return n.disk->Rescan(c, {}).status(); }},
      {"GetDiskNumberByName",
       [](N& n, C c) { return n.disk->GetDiskNumberByName(c, {"raw"}).status(); }},
      {"ListDiskIDs", [](N& n, C c) { return n.disk->ListDiskIDs(c, {}).status(); }},
      {"GetDiskStats", [](N& n, C c) { return n.disk->GetDiskStats(c, {1}).status(); }},
      {"SetDiskState",
       [](N& n, C c) {
         return n.disk->SetDiskState(c, {3, true}).status();
       }},
      {"SetDiskState of a read-only disk",
       [](N& n, C c) {
         return n.disk->SetDiskState(c, {6, true}).status();
       }},
      {"ListDisks", [](N& n, C c) { return n.storage->ListDisks(c, {}).status(); }},
      {"SetDiskReadOnly",
       [](N& n, C c) {
         return n.storage->SetDiskReadOnly(c, {5, true}).status();
       }},
      {"FormatVolume of the storage group",
       [](N& n, C c) {
         return n.storage->FormatVolume(c, {.volume_id = kVolume.ToString(), .overwrite = true})
             .status();
       }},
      {"GetVolumeHealth",
       [](N& n, C c) { return n.storage->GetVolumeHealth(c, {kVolume.ToString()}).status(); }},
      {"GetDiskState", [](N& n, C c) { return n.disk->GetDiskState(c, {1}).status(); }},
      {"PathExists",
       [](N& n, C c) { return n.filesystem->PathExists(c, {Below("pods")}).status(); }},
      {"Mkdir", [](N& n, C c) { return n.filesystem->Mkdir(c, {Below("new")}).status(); }},
      {"Rmdir",
       [](N& n, C c) {
         return n.filesystem->Rmdir(c, {Below("pods"), true}).status();
       }},
      {"RmdirContents",
       [](N& n, C c) { return n.filesystem->RmdirContents(c, {Below("pods")}).status(); }},
      {"CreateSymlink",
       [](N& n, C c) {
         return n.filesystem->CreateSymlink(c, {Below("pods"), Below("new")}).status();
       }},
      {"IsSymlink", [](N& n, C c) { return n.filesystem->IsSymlink(c, {Below("link")}).status(); }},
      {"AddTargetPortal",
       [](N& n, C c) {
         return n.iscsi->AddTargetPortal(c, {{"10.0.0.6", 3260}}).status();
       }},
      {"DiscoverTargetPortal",
       [](N& n, C c) {
         return n.iscsi->DiscoverTargetPortal(c, {{"10.0.0.5", 3260}}).status();
       }},
      {"RemoveTargetPortal",
       [](N& n, C c) {
         return n.iscsi->RemoveTargetPortal(c, {{"10.0.0.5", 3260}}).status();
       }},
      {"ListTargetPortals", [](N& n, C c) { return n.iscsi->ListTargetPortals(c, {}).status(); }},
      {"ConnectTarget",
       [](N& n, C c) {
         return n.iscsi->ConnectTarget(c, {{"10.0.0.5", 3260}, "iqn.x:open"}).status();
       }},
      {"DisconnectTarget",
       [](N& n, C c) {
         return n.iscsi->DisconnectTarget(c, {{"10.0.0.5", 3260}, "iqn.x:joined"}).status();
       }},
      {"GetTargetDisks",
       [](N& n, C c) {
         return n.iscsi->GetTargetDisks(c, {{"10.0.0.5", 3260}, "iqn.x:joined"}).status();
       }},
      {"SetMutualChapSecret",
       [](N& n, C c) { return n.iscsi->SetMutualChapSecret(c, {"twelve-bytes"}).status(); }},
      {"NewSmbGlobalMapping",
       [](N& n, C c) {
         return n.smb->NewSmbGlobalMapping(c, {R"(\\srv\new)", Below("new"), "u", "p"}).status();
       }},
      {"NewSmbGlobalMapping again",
       [](N& n, C c) {
         return n.smb->NewSmbGlobalMapping(c, {host::kMapped, Below("new"), "u", "p"}).status();
       }},
      {"RemoveSmbGlobalMapping",
       [](N& n, C c) { return n.smb->RemoveSmbGlobalMapping(c, {host::kMapped}).status(); }},
      {"GetPathStats",
       [](N& n, C c) { return n.storage->GetPathStats(c, {Below("link")}).status(); }},
      {"ListMounts", [](N& n, C c) { return n.storage->ListMounts(c, {}).status(); }},
      {"ListSmbMappings", [](N& n, C c) { return n.storage->ListSmbMappings(c, {}).status(); }},
      {"GetBIOSSerialNumber",
       [](N& n, C c) { return n.system->GetBIOSSerialNumber(c, {}).status(); }},
      {"GetService", [](N& n, C c) { return n.system->GetService(c, {"Base"}).status(); }},
      {"StartService", [](N& n, C c) { return n.system->StartService(c, {"Idle"}).status(); }},
      {"StopService", [](N& n, C c) { return n.system->StopService(c, {"Upper"}).status(); }},
      {"StopService by force",
       [](N& n, C c) {
         return n.system->StopService(c, {"Base", true}).status();
       }},
      {"ListVolumesOnDisk", [](N& n, C c) { return n.volume->ListVolumesOnDisk(c, {2}).status(); }},
      {"MountVolume",
       [](N& n, C c) {
         return n.volume->MountVolume(c, {kVolume.ToString(), Below("empty")}).status();
       }},
      {"UnmountVolume",
       [](N& n, C c) {
         return n.volume->UnmountVolume(c, {kVolume.ToString(), Below("mounted")}).status();
       }},
      {"IsVolumeFormatted",
       [](N& n, C c) { return n.volume->IsVolumeFormatted(c, {kVolume.ToString()}).status(); }},
      {"FormatVolume",
       [](N& n, C c) { return n.volume->FormatVolume(c, {kVolume.ToString()}).status(); }},
      {"ResizeVolume",
       [](N& n, C c) {
         return n.volume->ResizeVolume(c, {kVolume.ToString(), int64_t{700} << 20}).status();
       }},
      {"ResizeVolume to the maximum",
       [](N& n, C c) { return n.volume->ResizeVolume(c, {kVolume.ToString(), 0}).status(); }},
      {"GetVolumeStats",
       [](N& n, C c) { return n.volume->GetVolumeStats(c, {kVolume.ToString()}).status(); }},
      {"GetDiskNumberFromVolumeID",
       [](N& n,
          C c) { return n.volume->GetDiskNumberFromVolumeID(c, {kVolume.ToString()}).status(); }},
      {"GetVolumeIDFromTargetPath",
       [](N& n,
          C c) { return n.volume->GetVolumeIDFromTargetPath(c, {Below("mounted")}).status(); }},
      {"GetClosestVolumeIDFromTargetPath",
       [](N& n,
          C c) { return n.volume->GetClosestVolumeIDFromTargetPath(c, {Below("pods")}).status(); }},
      {"WriteVolumeCache",
       [](N& n, C c) { return n.volume->WriteVolumeCache(c, {kVolume.ToString()}).status(); }},
  };
  return *kRpcs;
}

TEST(FailingHostTest, EveryFailureIsPassedOn) {
  const machine::simulated::NodeState prepared = host::PreparedNode();
  std::vector<std::string> operations;
  for (const absl::string_view operation : machine::simulated::Operations()) {
    if (machine::simulated::MatchesOperation("*", operation)) operations.emplace_back(operation);
  }
  for (const Rpc& rpc : Rpcs()) {
    int struck = 0;
    for (const std::string& operation : operations) {
      for (uint32_t others = 0;; ++others) {
        SCOPED_TRACE(absl::StrCat(rpc.name, ", ", operation, " after ", others, " others"));
        Node node(prepared);
        machine::simulated::FaultRule rule;
        rule.operation = operation;
        if (others > 0) {
          rule.times = others;
          rule.latency = absl::Nanoseconds(1);
          ASSERT_TRUE(node.machine->InjectFault(rule).ok());
        }
        rule.times = 1;
        rule.latency = absl::ZeroDuration();
        rule.code = absl::StatusCode::kDataLoss;
        rule.error = {4711, "as injected"};
        ASSERT_TRUE(node.machine->InjectFault(rule).ok());
        const absl::Status status =
            rpc.call(node, CallContext().WithTimeout(absl::Milliseconds(500)));
        EXPECT_EQ(node.locks.size(), 0u);
        if (!node.machine->Snapshot().faults.empty()) {
          EXPECT_TRUE(status.ok()) << status;
          break;
        }
        ++struck;
        EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
        EXPECT_TRUE(absl::StrContains(status.message(), "as injected")) << status;
      }
    }
    EXPECT_GT(struck, 0) << rpc.name;
  }
}

TEST(FailingHostTest, TextsHaveALongestLength) {
  Node node(host::PreparedNode());
  const CallContext context;
  const auto status_of_name = [&](size_t size) {
    return node.disk->GetDiskNumberByName(context, {std::string(size, 'a')}).status();
  };
  EXPECT_TRUE(absl::IsNotFound(status_of_name(1024))) << status_of_name(1024);
  EXPECT_TRUE(absl::IsInvalidArgument(status_of_name(1025))) << status_of_name(1025);
}

}  // namespace
}  // namespace csi_proxy::groups

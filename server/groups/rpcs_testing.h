// Calls every rpc of the services once, on a node where each succeeds.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/groups/deps.h"
#include "server/groups/node_services.h"
#include "server/host/operations_testing.h"
#include "server/simulator/simulated_host.h"

namespace csi_proxy::groups {

using host::kVolume;
using machine::simulator::Machine;

struct NoAudit final : AuditLog {
  void Record(const AuditRecord&) override {}
};

// The services of a PreparedNode().
struct Node {
  explicit Node(const machine::simulator::NodeState& state)
      : machine(*Machine::Create(state)),
        host(NewSimulatedHost(*machine,
                              [this](absl::string_view line) { warnings.emplace_back(line); })) {
    deps.host = host.get();
    deps.locks = &locks;
    deps.roots = machine::simulator::Kubelet("").roots;
    services = std::make_unique<NodeServices>(deps, &audit);
    AddFaults(machine.get(), *services);
  }

  // The host's log lines.
  std::vector<std::string> warnings;
  std::unique_ptr<Machine> machine;
  std::unique_ptr<host::Host> host;
  ResourceLocks locks;
  Deps deps;
  NoAudit audit;
  std::unique_ptr<NodeServices> services;
};

struct Rpc {
  const char* name;
  std::function<absl::Status(Node&, const CallContext&)> call;
};

inline std::string Below(const std::string& rest) { return R"(C:\var\lib\kubelet\)" + rest; }

inline const std::vector<Rpc>& Rpcs() {
  using N = Node;
  using C = CallContext;
  static const auto* const kRpcs = new std::vector<Rpc>{
      {"disk.ListDiskLocations",
       [](N& n, C c) { return n.services->disk.service->ListDiskLocations(c, {}).status(); }},
      {"disk.PartitionDisk",
       [](N& n, C c) { return n.services->disk.service->PartitionDisk(c, {1}).status(); }},
      {"disk.PartitionDisk again",
       [](N& n, C c) { return n.services->disk.service->PartitionDisk(c, {2}).status(); }},
      {"disk.Rescan", [](N& n, C c) { return n.services->disk.service->Rescan(c, {}).status(); }},
      {"disk.GetDiskNumberByName",
       [](N& n, C c) {
         return n.services->disk.service->GetDiskNumberByName(c, {"raw"}).status();
       }},
      {"disk.ListDiskIDs",
       [](N& n, C c) { return n.services->disk.service->ListDiskIDs(c, {}).status(); }},
      {"disk.GetDiskStats",
       [](N& n, C c) { return n.services->disk.service->GetDiskStats(c, {1}).status(); }},
      {"disk.SetDiskState",
       [](N& n, C c) {
         return n.services->disk.service->SetDiskState(c, {3, true}).status();
       }},
      {"disk.SetDiskState of a read-only disk",
       [](N& n, C c) {
         return n.services->disk.service->SetDiskState(c, {6, true}).status();
       }},
      {"storage.ListDisks",
       [](N& n, C c) { return n.services->storage.service->ListDisks(c, {}).status(); }},
      {"storage.SetDiskReadOnly",
       [](N& n, C c) {
         return n.services->storage.service->SetDiskReadOnly(c, {5, true}).status();
       }},
      {"storage.FormatVolume",
       [](N& n, C c) {
         return n.services->storage.service
             ->FormatVolume(c, {.volume_id = host::kFreeVolume.ToString(), .overwrite = true})
             .status();
       }},
      {"storage.GetVolumeHealth",
       [](N& n, C c) {
         return n.services->storage.service->GetVolumeHealth(c, {kVolume.ToString()}).status();
       }},
      {"disk.GetDiskState",
       [](N& n, C c) { return n.services->disk.service->GetDiskState(c, {1}).status(); }},
      {"filesystem.PathExists",
       [](N& n, C c) {
         return n.services->filesystem.service->PathExists(c, {Below("pods")}).status();
       }},
      {"filesystem.Mkdir",
       [](N& n, C c) { return n.services->filesystem.service->Mkdir(c, {Below("new")}).status(); }},
      {"filesystem.Rmdir",
       [](N& n, C c) {
         return n.services->filesystem.service->Rmdir(c, {Below("pods"), true}).status();
       }},
      {"filesystem.RmdirContents",
       [](N& n, C c) {
         return n.services->filesystem.service->RmdirContents(c, {Below("pods")}).status();
       }},
      {"filesystem.CreateSymlink",
       [](N& n, C c) {
         return n.services->filesystem.service->CreateSymlink(c, {Below("pods"), Below("new")})
             .status();
       }},
      {"filesystem.IsSymlink",
       [](N& n, C c) {
         return n.services->filesystem.service->IsSymlink(c, {Below("link")}).status();
       }},
      {"iscsi.AddTargetPortal",
       [](N& n, C c) {
         return n.services->iscsi.service->AddTargetPortal(c, {{"10.0.0.6", 3260}}).status();
       }},
      {"iscsi.DiscoverTargetPortal",
       [](N& n, C c) {
         return n.services->iscsi.service->DiscoverTargetPortal(c, {{"10.0.0.5", 3260}}).status();
       }},
      {"iscsi.RemoveTargetPortal",
       [](N& n, C c) {
         return n.services->iscsi.service->RemoveTargetPortal(c, {{"10.0.0.5", 3260}}).status();
       }},
      {"iscsi.ListTargetPortals",
       [](N& n, C c) { return n.services->iscsi.service->ListTargetPortals(c, {}).status(); }},
      {"iscsi.ConnectTarget",
       [](N& n, C c) {
         return n.services->iscsi.service->ConnectTarget(c, {{"10.0.0.5", 3260}, "iqn.x:open"})
             .status();
       }},
      {"iscsi.DisconnectTarget",
       [](N& n, C c) {
         return n.services->iscsi.service->DisconnectTarget(c, {{"10.0.0.5", 3260}, "iqn.x:joined"})
             .status();
       }},
      {"iscsi.GetTargetDisks",
       [](N& n, C c) {
         return n.services->iscsi.service->GetTargetDisks(c, {{"10.0.0.5", 3260}, "iqn.x:joined"})
             .status();
       }},
      {"iscsi.SetMutualChapSecret",
       [](N& n, C c) {
         return n.services->iscsi.service->SetMutualChapSecret(c, {"twelve-bytes"}).status();
       }},
      {"smb.NewSmbGlobalMapping",
       [](N& n, C c) {
         return n.services->smb.service
             ->NewSmbGlobalMapping(c, {R"(\\srv\new)", Below("new"), "u", "p"})
             .status();
       }},
      {"smb.NewSmbGlobalMapping again",
       [](N& n, C c) {
         return n.services->smb.service
             ->NewSmbGlobalMapping(c, {host::kMapped, Below("new"), "u", "p"})
             .status();
       }},
      {"smb.RemoveSmbGlobalMapping",
       [](N& n, C c) {
         return n.services->smb.service->RemoveSmbGlobalMapping(c, {host::kMapped}).status();
       }},
      {"storage.StageVolume",
       [](N& n, C c) {
         return n.services->storage.service
             ->StageVolume(c, {.disk = {.number = "1"}, .target_path = Below("staged")})
             .status();
       }},
      {"storage.UnstageVolume",
       [](N& n, C c) {
         return n.services->storage.service->UnstageVolume(c, {Below("mounted")}).status();
       }},
      {"storage.StageShare",
       [](N& n, C c) {
         return n.services->storage.service
             ->StageShare(c, {R"(\\srv\new)", Below("new"), "u", "p"})
             .status();
       }},
      {"storage.StageShare of a mapped share",
       [](N& n, C c) {
         return n.services->storage.service
             ->StageShare(c, {host::kMapped, Below("empty"), "u", "p"})
             .status();
       }},
      {"storage.UnstageShare",
       [](N& n, C c) {
         return n.services->storage.service->UnstageShare(c, {Below("empty"), host::kMapped})
             .status();
       }},
      {"storage.StageTarget",
       [](N& n, C c) {
         return n.services->storage.service
             ->StageTarget(c, {.portals = {"10.0.0.5"},
                               .iqn = "iqn.x:open",
                               .lun_id = "0",
                               .persistent = true,
                               .target_path = Below("staged")})
             .status();
       }},
      {"storage.StageTarget of a connected one",
       [](N& n, C c) {
         return n.services->storage.service
             ->StageTarget(c, {.portals = {"10.0.0.5"},
                               .iqn = "iqn.x:joined",
                               .lun_id = "0",
                               .persistent = true,
                               .target_path = Below("staged")})
             .status();
       }},
      {"storage.UnstageTarget",
       [](N& n, C c) {
         return n.services->storage.service
             ->UnstageTarget(c, {.target_path = Below("mounted"),
                                 .iqn = "iqn.x:joined",
                                 .lun_id = "0",
                                 .remove_portals = {"10.0.0.5"}})
             .status();
       }},
      {"storage.GetPathStats",
       [](N& n, C c) {
         return n.services->storage.service->GetPathStats(c, {Below("link")}).status();
       }},
      {"storage.ListMounts",
       [](N& n, C c) { return n.services->storage.service->ListMounts(c, {}).status(); }},
      {"storage.ListSmbMappings",
       [](N& n, C c) { return n.services->storage.service->ListSmbMappings(c, {}).status(); }},
      {"system.GetBIOSSerialNumber",
       [](N& n, C c) { return n.services->system.service->GetBIOSSerialNumber(c, {}).status(); }},
      {"system.GetService",
       [](N& n, C c) { return n.services->system.service->GetService(c, {"Base"}).status(); }},
      {"system.StartService",
       [](N& n, C c) { return n.services->system.service->StartService(c, {"Idle"}).status(); }},
      {"system.StopService",
       [](N& n, C c) { return n.services->system.service->StopService(c, {"Upper"}).status(); }},
      {"system.StopService by force",
       [](N& n, C c) {
         return n.services->system.service->StopService(c, {"Base", true}).status();
       }},
      {"volume.ListVolumesOnDisk",
       [](N& n, C c) { return n.services->volume.service->ListVolumesOnDisk(c, {2}).status(); }},
      {"volume.MountVolume",
       [](N& n, C c) {
         return n.services->volume.service->MountVolume(c, {kVolume.ToString(), Below("empty")})
             .status();
       }},
      {"volume.UnmountVolume",
       [](N& n, C c) {
         return n.services->volume.service->UnmountVolume(c, {kVolume.ToString(), Below("mounted")})
             .status();
       }},
      {"volume.IsVolumeFormatted",
       [](N& n, C c) {
         return n.services->volume.service->IsVolumeFormatted(c, {kVolume.ToString()}).status();
       }},
      {"volume.FormatVolume",
       [](N& n, C c) {
         return n.services->volume.service->FormatVolume(c, {host::kFreeVolume.ToString()}).status();
       }},
      {"volume.ResizeVolume",
       [](N& n, C c) {
         return n.services->volume.service
             ->ResizeVolume(c, {kVolume.ToString(), int64_t{700} << 20})
             .status();
       }},
      {"volume.ResizeVolume to the maximum",
       [](N& n, C c) {
         return n.services->volume.service->ResizeVolume(c, {kVolume.ToString(), 0}).status();
       }},
      {"volume.GetVolumeStats",
       [](N& n, C c) {
         return n.services->volume.service->GetVolumeStats(c, {kVolume.ToString()}).status();
       }},
      {"volume.GetDiskNumberFromVolumeID",
       [](N& n, C c) {
         return n.services->volume.service->GetDiskNumberFromVolumeID(c, {kVolume.ToString()})
             .status();
       }},
      {"volume.GetVolumeIDFromTargetPath",
       [](N& n, C c) {
         return n.services->volume.service->GetVolumeIDFromTargetPath(c, {Below("mounted")})
             .status();
       }},
      {"volume.GetClosestVolumeIDFromTargetPath",
       [](N& n, C c) {
         return n.services->volume.service->GetClosestVolumeIDFromTargetPath(c, {Below("pods")})
             .status();
       }},
      {"volume.WriteVolumeCache",
       [](N& n, C c) {
         return n.services->volume.service->WriteVolumeCache(c, {kVolume.ToString()}).status();
       }},
  };
  return *kRpcs;
}

}  // namespace csi_proxy::groups

// The rpcs of the services, each with requests that succeed on a PreparedNode().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "server/groups/handler_deps.h"
#include "server/groups/node_services.h"
#include "server/host/operations_testing.h"
#include "server/node/simulated_host.h"

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
  HandlerDeps deps;
  NoAudit audit;
  std::unique_ptr<NodeServices> services;
};

struct Rpc {
  const char* name;
  std::function<absl::Status(Node&, const CallContext&)> call;
};

// Returns a function that calls the method of a node's group with the request.
template <typename Service, typename Request, typename Response>
std::function<absl::Status(Node&, const CallContext&)> Call(
    Audited<Service> NodeServices::*group,
    absl::StatusOr<Response> (Service::*method)(const CallContext&, const Request&),
    std::type_identity_t<Request> request = {}) {
  return [=](Node& node, const CallContext& context) {
    return ((*node.services.*group).service.get()->*method)(context, request).status();
  };
}

inline std::string Below(const std::string& rest) { return R"(C:\var\lib\kubelet\)" + rest; }

inline const std::vector<Rpc>& Rpcs() {
  using N = NodeServices;
  static const auto* const kRpcs = new std::vector<Rpc>{
      {"disk.ListDiskLocations", Call(&N::disk, &disk::Service::ListDiskLocations)},
      {"disk.PartitionDisk", Call(&N::disk, &disk::Service::PartitionDisk, {1})},
      {"disk.PartitionDisk again", Call(&N::disk, &disk::Service::PartitionDisk, {2})},
      {"disk.Rescan", Call(&N::disk, &disk::Service::Rescan)},
      {"disk.GetDiskNumberByName", Call(&N::disk, &disk::Service::GetDiskNumberByName, {"raw"})},
      {"disk.ListDiskIDs", Call(&N::disk, &disk::Service::ListDiskIDs)},
      {"disk.GetDiskStats", Call(&N::disk, &disk::Service::GetDiskStats, {1})},
      {"disk.SetDiskState", Call(&N::disk, &disk::Service::SetDiskState, {3, true})},
      {"disk.SetDiskState of a read-only disk",
       Call(&N::disk, &disk::Service::SetDiskState, {6, true})},
      {"storage.ListDisks", Call(&N::storage, &storage::Service::ListDisks)},
      {"storage.SetDiskReadOnly", Call(&N::storage, &storage::Service::SetDiskReadOnly, {5, true})},
      {"storage.FormatVolume",
       Call(&N::storage, &storage::Service::FormatVolume,
            {.volume_id = host::kFreeVolume.ToString(), .overwrite = true})},
      {"storage.GetVolumeHealth",
       Call(&N::storage, &storage::Service::GetVolumeHealth, {kVolume.ToString()})},
      {"storage.ListVolumeHealth",
       Call(&N::storage, &storage::Service::ListVolumeHealth, {{kVolume.ToString()}})},
      {"disk.GetDiskState", Call(&N::disk, &disk::Service::GetDiskState, {1})},
      {"filesystem.PathExists",
       Call(&N::filesystem, &filesystem::Service::PathExists, {Below("pods")})},
      {"filesystem.Mkdir", Call(&N::filesystem, &filesystem::Service::Mkdir, {Below("new")})},
      {"filesystem.Rmdir",
       Call(&N::filesystem, &filesystem::Service::Rmdir, {Below("pods"), true})},
      {"filesystem.RmdirContents",
       Call(&N::filesystem, &filesystem::Service::RmdirContents, {Below("pods")})},
      {"filesystem.CreateSymlink",
       Call(&N::filesystem, &filesystem::Service::CreateSymlink, {Below("pods"), Below("new")})},
      {"filesystem.IsSymlink",
       Call(&N::filesystem, &filesystem::Service::IsSymlink, {Below("link")})},
      {"iscsi.AddTargetPortal",
       Call(&N::iscsi, &iscsi::Service::AddTargetPortal, {{"10.0.0.6", 3260}})},
      {"iscsi.DiscoverTargetPortal",
       Call(&N::iscsi, &iscsi::Service::DiscoverTargetPortal, {{"10.0.0.5", 3260}})},
      {"iscsi.RemoveTargetPortal",
       Call(&N::iscsi, &iscsi::Service::RemoveTargetPortal, {{"10.0.0.5", 3260}})},
      {"iscsi.ListTargetPortals", Call(&N::iscsi, &iscsi::Service::ListTargetPortals)},
      {"iscsi.ConnectTarget",
       Call(&N::iscsi, &iscsi::Service::ConnectTarget, {{"10.0.0.5", 3260}, "iqn.x:open"})},
      {"iscsi.DisconnectTarget",
       Call(&N::iscsi, &iscsi::Service::DisconnectTarget, {{"10.0.0.5", 3260}, "iqn.x:joined"})},
      {"iscsi.GetTargetDisks",
       Call(&N::iscsi, &iscsi::Service::GetTargetDisks, {{"10.0.0.5", 3260}, "iqn.x:joined"})},
      {"iscsi.SetMutualChapSecret",
       Call(&N::iscsi, &iscsi::Service::SetMutualChapSecret, {"twelve-bytes"})},
      {"smb.NewSmbGlobalMapping",
       Call(&N::smb, &smb::Service::NewSmbGlobalMapping, {R"(\\srv\new)", Below("new"), "u", "p"})},
      {"smb.NewSmbGlobalMapping again",
       Call(&N::smb, &smb::Service::NewSmbGlobalMapping, {host::kMapped, Below("new"), "u", "p"})},
      {"smb.RemoveSmbGlobalMapping",
       Call(&N::smb, &smb::Service::RemoveSmbGlobalMapping, {host::kMapped})},
      {"storage.StageVolume", Call(&N::storage, &storage::Service::StageVolume,
                                   {.disk = {.number = "1"}, .target_path = Below("staged")})},
      {"storage.UnstageVolume",
       Call(&N::storage, &storage::Service::UnstageVolume, {Below("mounted")})},
      {"storage.StageShare",
       Call(&N::storage, &storage::Service::StageShare, {R"(\\srv\new)", Below("new"), "u", "p"})},
      {"storage.StageShare of a mapped share",
       Call(&N::storage, &storage::Service::StageShare, {host::kMapped, Below("empty"), "u", "p"})},
      {"storage.UnstageShare",
       Call(&N::storage, &storage::Service::UnstageShare, {Below("empty"), host::kMapped})},
      {"storage.StageTarget", Call(&N::storage, &storage::Service::StageTarget,
                                   {.portals = {"10.0.0.5"},
                                    .iqn = "iqn.x:open",
                                    .lun_id = "0",
                                    .persistent = true,
                                    .target_path = Below("staged")})},
      {"storage.StageTarget of a connected one", Call(&N::storage, &storage::Service::StageTarget,
                                                      {.portals = {"10.0.0.5"},
                                                       .iqn = "iqn.x:joined",
                                                       .lun_id = "0",
                                                       .persistent = true,
                                                       .target_path = Below("staged")})},
      {"storage.UnstageTarget", Call(&N::storage, &storage::Service::UnstageTarget,
                                     {.target_path = Below("mounted"),
                                      .iqn = "iqn.x:joined",
                                      .lun_id = "0",
                                      .remove_portals = {"10.0.0.5"}})},
      {"storage.GetPathStats", Call(&N::storage, &storage::Service::GetPathStats, {Below("link")})},
      {"storage.ListMounts", Call(&N::storage, &storage::Service::ListMounts)},
      {"storage.RemoveMount",
       Call(&N::storage, &storage::Service::RemoveMount, {Below("lost"), Below("none")})},
      {"storage.ListSmbMappings", Call(&N::storage, &storage::Service::ListSmbMappings)},
      {"system.GetBIOSSerialNumber", Call(&N::system, &system::Service::GetBIOSSerialNumber)},
      {"system.GetService", Call(&N::system, &system::Service::GetService, {"Base"})},
      {"system.StartService", Call(&N::system, &system::Service::StartService, {"Idle"})},
      {"system.StopService", Call(&N::system, &system::Service::StopService, {"Upper"})},
      {"system.StopService by force",
       Call(&N::system, &system::Service::StopService, {"Base", true})},
      {"volume.ListVolumesOnDisk", Call(&N::volume, &volume::Service::ListVolumesOnDisk, {2})},
      {"volume.MountVolume",
       Call(&N::volume, &volume::Service::MountVolume, {kVolume.ToString(), Below("empty")})},
      {"volume.UnmountVolume",
       Call(&N::volume, &volume::Service::UnmountVolume, {kVolume.ToString(), Below("mounted")})},
      {"volume.IsVolumeFormatted",
       Call(&N::volume, &volume::Service::IsVolumeFormatted, {kVolume.ToString()})},
      {"volume.FormatVolume",
       Call(&N::volume, &volume::Service::FormatVolume, {host::kFreeVolume.ToString()})},
      {"volume.ResizeVolume",
       Call(&N::volume, &volume::Service::ResizeVolume, {kVolume.ToString(), int64_t{700} << 20})},
      {"volume.ResizeVolume to the maximum",
       Call(&N::volume, &volume::Service::ResizeVolume, {kVolume.ToString(), 0})},
      {"volume.GetVolumeStats",
       Call(&N::volume, &volume::Service::GetVolumeStats, {kVolume.ToString()})},
      {"volume.GetDiskNumberFromVolumeID",
       Call(&N::volume, &volume::Service::GetDiskNumberFromVolumeID, {kVolume.ToString()})},
      {"volume.GetVolumeIDFromTargetPath",
       Call(&N::volume, &volume::Service::GetVolumeIDFromTargetPath, {Below("mounted")})},
      {"volume.GetClosestVolumeIDFromTargetPath",
       Call(&N::volume, &volume::Service::GetClosestVolumeIDFromTargetPath, {Below("pods")})},
      {"volume.WriteVolumeCache",
       Call(&N::volume, &volume::Service::WriteVolumeCache, {kVolume.ToString()})},
  };
  return *kRpcs;
}

}  // namespace csi_proxy::groups

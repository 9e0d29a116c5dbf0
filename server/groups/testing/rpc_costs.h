// A node of any size, and one call of each rpc that drivers call, to count the calls of Windows
// that the rpc makes: scale_test.cc limits the counts, integration/bench/call_counts prints them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "server/base/status_macros.h"
#include "server/groups/node_services.h"
#include "server/host/host.h"
#include "server/locks/resource_locks.h"
#include "server/names/win32_error.h"
#include "server/names/windows_path.h"
#include "server/simulator/scenario.h"
#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::groups {

inline std::string VolumeOf(int n) {
  return absl::StrFormat(R"(\\?\Volume{00000000-0000-0000-0000-%012d}\)", n);
}
inline std::string ShareOf(int n) { return absl::StrCat(R"(\\files\share)", n); }
inline constexpr char kNewShare[] = R"(\\files\new)";

// Returns a node with C: and `size` disks. The first half of them have a mounted and linked volume
// each, the others are raw. There are as many mappings as volumes, and an iSCSI target.
inline std::string ScaledScenario(int size) {
  const auto quoted = [](const std::string& text) {
    return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}}), "\"");
  };
  std::string system, shares, mappings, disks;
  for (int n = 1; n <= size; ++n) {
    absl::StrAppend(&disks, "disk { number: ", n, " size_bytes: 1073741824 page83: \"id", n,
                    "\" serial_number: \"serial", n,
                    "\" location: \"Integrated : Adapter 1 : Port 0 : Target 0 : LUN ", n, "\" ");
    if (n > size / 2) {
      absl::StrAppend(&disks, "}");
      continue;
    }
    const std::string stage = absl::StrCat(R"(var\lib\kubelet\plugins\)", n);
    absl::StrAppend(&system, "file { path: ", quoted(stage),
                    " mounted_volume_id: ", quoted(VolumeOf(n)),
                    " } file { path: ", quoted(absl::StrCat(R"(var\lib\kubelet\pods\)", n)),
                    " kind: LINK target: ", quoted("C:\\" + stage), " }");
    absl::StrAppend(&disks,
                    "style: GPT partition { type: MICROSOFT_RESERVED size_bytes: 16777216 }",
                    " partition { size_bytes: 536870912 volume { file_system: \"NTFS\" id: ",
                    quoted(VolumeOf(n)), " } } }");
    absl::StrAppend(&shares, "share { name: \"share", n, "\" }");
    absl::StrAppend(&mappings, "smb_mapping { username: \"u\" remote_path: ", quoted(ShareOf(n)),
                    " }");
  }
  return absl::StrCat(
      "disk { number: 0 size_bytes: 68719476736 style: GPT partition { size_bytes: 68000000000",
      " volume { file_system: \"NTFS\" drive_letter: \"C\" ", system, " } } }", disks,
      "smb_server { name: \"files\" user { name: \"u\" password: \"p\" }", shares,
      " share { name: \"new\" } } service { name: \"S\" } iscsi_portal { address: \"10.0.0.5\"",
      " target { iqn: \"iqn.x:t\" disk { number: 5000 size_bytes: 1073741824",
      " bus_type: BUS_ISCSI location: \"iSCSI : Adapter 2 : Port 0 : Target 0 : LUN 3\" } } }",
      mappings);
}

struct ScaledNode {
  explicit ScaledNode(int disks)
      : size(disks),
        machine(*machine::simulator::LoadScenario(ScaledScenario(size), "scaled")),
        host(std::make_unique<host::Host>(
            machine::simulator::wmi::NewSimulatedSession(machine->core()),
            machine::simulator::NewSimulatedOs(machine->core()))) {
    Deps deps;
    deps.host = host.get();
    deps.locks = &locks;
    deps.roots = *PathRoots::Parse("root", {R"(C:\var\lib\kubelet)"});
    disk = disk::NewDiskService(deps);
    filesystem = filesystem::NewFilesystemService(deps);
    iscsi = iscsi::NewIscsiService(deps);
    smb = smb::NewSmbService(deps);
    storage = storage::NewStorageService(deps);
    system = system::NewSystemService(deps);
    volume = volume::NewVolumeService(deps);
  }

  static std::string Below(const std::string& rest) { return R"(C:\var\lib\kubelet\)" + rest; }
  uint32_t raw(int n) const { return static_cast<uint32_t>(size - n); }

  const int size;
  const std::unique_ptr<machine::simulator::Machine> machine;
  const std::unique_ptr<host::Host> host;
  const CallContext context{};
  ResourceLocks locks;
  uint64_t grown = uint64_t{1} << 30;
  std::unique_ptr<disk::Service> disk;
  std::unique_ptr<filesystem::Service> filesystem;
  std::unique_ptr<iscsi::Service> iscsi;
  std::unique_ptr<smb::Service> smb;
  std::unique_ptr<storage::Service> storage;
  std::unique_ptr<system::Service> system;
  std::unique_ptr<volume::Service> volume;
};

// How a count grows with the node's disks.
enum class Cost { kFlat, kLinear };

// The calls are made in this order: one prepares the node for the next.
struct RpcCost {
  const char* name;
  Cost win32, wmi_objects;
  // The most calls of WMI that are allowed; and those of csi-proxy v1.3.0 for a disk with two
  // partitions, counted in its pkg/os and pkg/cim, or -1 if it has no such rpc. It opens a
  // connection for each.
  int most_wmi_calls, go;
  std::function<absl::Status(ScaledNode&)> call;
  // Prepares the call, uncounted.
  std::function<absl::Status(ScaledNode&)> before = nullptr;
};

// Returns a function that makes one call.
template <typename Service, typename Request, typename Response>
std::function<absl::Status(ScaledNode&)> Ask(
    std::unique_ptr<Service> ScaledNode::*service,
    absl::StatusOr<Response> (Service::*rpc)(const CallContext&, const Request&),
    std::type_identity_t<Request> request = {}) {
  return [service, rpc, request](ScaledNode& node) {
    return ((*(node.*service)).*rpc)(node.context, request).status();
  };
}

inline std::vector<RpcCost> RpcCosts() {
  using N = ScaledNode;
  using D = disk::Service;
  using F = filesystem::Service;
  using I = iscsi::Service;
  using M = smb::Service;
  using S = storage::Service;
  using V = volume::Service;
  constexpr Cost kFlat = Cost::kFlat, kLinear = Cost::kLinear;
  const auto below = [](const char* path) { return N::Below(path); };
  const iscsi::TargetPortal portal = {.target_address = "10.0.0.5"};
  const auto stage = [&](storage::DiskSelector disk) {
    return Ask(&N::storage, &S::StageVolume, {.disk = disk, .target_path = below(R"(plugins\n)")});
  };
  const auto stage_raw = [](N& n) {
    return n.storage
        ->StageVolume(n.context, {.disk = {.number = absl::StrCat(n.raw(1))},
                                  .target_path = N::Below(R"(plugins\n)")})
        .status();
  };
  const auto unstage = Ask(&N::storage, &S::UnstageVolume, {.target_path = below(R"(plugins\n)")});
  const auto grow = [](N& n) -> absl::Status {
    ABSL_RETURN_IF_ERROR(n.machine->GrowDisk(2, (n.grown += uint64_t{1} << 30)));
    return n.disk->Rescan(n.context, {}).status();
  };
  const auto map = [](const std::string& share) {
    return Ask(&N::smb, &M::NewSmbGlobalMapping,
               {.remote_path = share, .username = "u", .password = "p"});
  };
  const volume::MountVolumeRequest mount = {.volume_id = VolumeOf(2),
                                            .target_path = below(R"(plugins\2)")};
  return {
      {"ListDiskLocations", kFlat, kLinear, 1, 1, Ask(&N::disk, &D::ListDiskLocations)},
      {"ListDiskIDs", kLinear, kLinear, 1, 1, Ask(&N::disk, &D::ListDiskIDs)},
      {"GetDiskNumberByName", kLinear, kLinear, 1, 1,
       Ask(&N::disk, &D::GetDiskNumberByName, {.disk_name = "id2"})},
      {"Rescan", kFlat, kFlat, 1, 1, Ask(&N::disk, &D::Rescan)},
      {"ListDisks", kLinear, kLinear, 1, -1, Ask(&N::storage, &S::ListDisks)},
      {"ListDisks that reads them", kLinear, kLinear, 2, -1,
       Ask(&N::storage, &S::ListDisks, {.read_content = true})},
      {"GetVolumeHealth", kFlat, kFlat, 2, -1,
       Ask(&N::storage, &S::GetVolumeHealth, {.volume_id = VolumeOf(2)})},
      {"ListVolumeHealth of all", kLinear, kLinear, 2, -1,
       [](N& n) {
         storage::ListVolumeHealthRequest all;
         for (int i = 1; i <= n.size / 2; ++i) all.volume_ids.push_back(VolumeOf(i));
         return n.storage->ListVolumeHealth(n.context, all).status();
       }},
      {"ListVolumesOnDisk", kLinear, kFlat, 0, 3,
       Ask(&N::volume, &V::ListVolumesOnDisk, {.disk_number = 2})},
      {"PartitionDisk", kLinear, kFlat, 3, 9,
       [](N& n) { return n.disk->PartitionDisk(n.context, {.disk_number = n.raw(0)}).status(); }},
      {"PartitionDisk of a partitioned disk", kLinear, kFlat, 2, 3,
       Ask(&N::disk, &D::PartitionDisk, {.disk_number = 2})},
      {"GetDiskStats", kFlat, kFlat, 0, 1, Ask(&N::disk, &D::GetDiskStats, {.disk_number = 2})},
      {"GetDiskState", kFlat, kFlat, 0, 1, Ask(&N::disk, &D::GetDiskState, {.disk_number = 2})},
      {"PathExists", kFlat, kFlat, 0, 0,
       Ask(&N::filesystem, &F::PathExists, {.path = below(R"(pods\2)")})},
      {"IsSymlink", kFlat, kFlat, 0, 0,
       Ask(&N::filesystem, &F::IsSymlink, {.path = below(R"(pods\2)")})},
      {"Mkdir", kFlat, kFlat, 0, 0, Ask(&N::filesystem, &F::Mkdir, {.path = below("new")})},
      {"Rmdir", kFlat, kFlat, 0, 0, Ask(&N::filesystem, &F::Rmdir, {.path = below("new")})},
      {"CreateSymlink", kFlat, kFlat, 0, 0,
       Ask(&N::filesystem, &F::CreateSymlink,
           {.source_path = below(R"(plugins\2)"), .target_path = below("link")})},
      {"Rmdir of a link", kFlat, kFlat, 0, 0,
       Ask(&N::filesystem, &F::Rmdir, {.path = below("link")})},
      {"GetVolumeStats", kFlat, kFlat, 0, 1,
       Ask(&N::volume, &V::GetVolumeStats, {.volume_id = VolumeOf(2)})},
      {"GetPathStats", kFlat, kFlat, 0, -1,
       Ask(&N::storage, &S::GetPathStats, {.path = below(R"(pods\2)")})},
      {"ListMounts", kLinear, kFlat, 0, -1, Ask(&N::storage, &S::ListMounts)},
      {"ListSmbMappings", kLinear, kLinear, 1, -1, Ask(&N::storage, &S::ListSmbMappings)},
      {"GetVolumeIDFromTargetPath", kFlat, kFlat, 0, 0,
       Ask(&N::volume, &V::GetVolumeIDFromTargetPath, {.target_path = below(R"(pods\2)")})},
      {"GetClosestVolumeIDFromTargetPath", kFlat, kFlat, 0, 2,
       Ask(&N::volume, &V::GetClosestVolumeIDFromTargetPath, {.target_path = below(R"(pods\2)")})},
      {"GetDiskNumberFromVolumeID", kFlat, kFlat, 0, 2,
       Ask(&N::volume, &V::GetDiskNumberFromVolumeID, {.volume_id = VolumeOf(2)})},
      {"IsVolumeFormatted", kFlat, kFlat, 0, 1,
       Ask(&N::volume, &V::IsVolumeFormatted, {.volume_id = VolumeOf(2)})},
      {"UnmountVolume", kFlat, kFlat, 0, 2,
       Ask(&N::volume, &V::UnmountVolume,
           {.volume_id = VolumeOf(2), .target_path = below(R"(plugins\2)")})},
      {"FormatVolume", kFlat, kFlat, 3, 2,
       Ask(&N::volume, &V::FormatVolume, {.volume_id = VolumeOf(2)})},
      {"FormatVolume with overwrite", kLinear, kFlat, 3, -1,
       Ask(&N::storage, &S::FormatVolume, {.volume_id = VolumeOf(2), .overwrite = true})},
      {"SetDiskReadOnly", kLinear, kFlat, 2, -1,
       Ask(&N::storage, &S::SetDiskReadOnly, {.disk_number = 2, .read_only = true})},
      {"SetDiskReadOnly, writable", kLinear, kFlat, 0, -1,
       Ask(&N::storage, &S::SetDiskReadOnly, {.disk_number = 2})},
      {"MountVolume", kFlat, kFlat, 1, 0, Ask(&N::volume, &V::MountVolume, mount)},
      {"MountVolume of a mounted volume", kFlat, kFlat, 0, 0,
       Ask(&N::volume, &V::MountVolume, mount)},
      {"ResizeVolume", kFlat, kFlat, 2, 5,
       Ask(&N::volume, &V::ResizeVolume,
           {.volume_id = VolumeOf(2), .size_bytes = int64_t{3} << 29}),
       grow},
      {"ResizeVolume to the maximum", kFlat, kFlat, 2, 6,
       Ask(&N::volume, &V::ResizeVolume, {.volume_id = VolumeOf(2)}), grow},
      {"ResizeVolume of a full disk", kFlat, kFlat, 1, 4,
       Ask(&N::volume, &V::ResizeVolume, {.volume_id = VolumeOf(2)})},
      {"WriteVolumeCache", kFlat, kFlat, 0, 2,
       Ask(&N::volume, &V::WriteVolumeCache, {.volume_id = VolumeOf(2)})},
      {"SetDiskState", kFlat, kFlat, 2, 2, Ask(&N::disk, &D::SetDiskState, {.disk_number = 2})},
      // The call lists the node's volumes once while it waits for the volumes of the disk.
      {"SetDiskState, online", kLinear, kFlat, 2, 2,
       Ask(&N::disk, &D::SetDiskState, {.disk_number = 2, .is_online = true})},
      {"StageVolume of a raw disk by number", kLinear, kFlat, 10, -1, stage_raw},
      {"StageVolume again", kLinear, kFlat, 4, -1, stage_raw},
      {"UnstageVolume", kFlat, kFlat, 2, -1, unstage},
      {"StageVolume of an offline disk by number", kLinear, kFlat, 7, -1, stage_raw},
      {"StageVolume by page 83", kLinear, kLinear, 5, -1, stage({.page83 = "id4"}),
       [unstage](N& n) -> absl::Status {
         ABSL_RETURN_IF_ERROR(unstage(n));
         return n.volume
             ->UnmountVolume(n.context,
                             {.volume_id = VolumeOf(4), .target_path = N::Below(R"(plugins\4)")})
             .status();
       }},
      {"StageVolume by LUN", kLinear, kLinear, 4, -1, stage({.lun_id = "4"})},
      {"NewSmbGlobalMapping of a mapped share", kFlat, kFlat, 1, 1, map(ShareOf(2))},
      {"NewSmbGlobalMapping", kFlat, kFlat, 2, 2, map(kNewShare)},
      {"NewSmbGlobalMapping, broken", kFlat, kFlat, 3, 4, map(kNewShare),
       [](N& n) { return n.machine->BreakMapping(kNewShare); }},
      // The call logs the links to the share, so it reads all links.
      {"RemoveSmbGlobalMapping", kLinear, kFlat, 2, 2,
       Ask(&N::smb, &M::RemoveSmbGlobalMapping, {.remote_path = kNewShare})},
      {"StageShare", kFlat, kFlat, 2, -1,
       Ask(&N::storage, &S::StageShare,
           {.remote_path = kNewShare,
            .target_path = below("s"),
            .username = "u",
            .password = "p"})},
      {"UnstageShare", kLinear, kFlat, 3, -1,
       Ask(&N::storage, &S::UnstageShare, {.target_path = below("s")})},
      {"AddTargetPortal", kFlat, kFlat, 2, -1,
       Ask(&N::iscsi, &I::AddTargetPortal, {.target_portal = portal})},
      {"DiscoverTargetPortal", kFlat, kFlat, 3, -1,
       Ask(&N::iscsi, &I::DiscoverTargetPortal, {.target_portal = portal})},
      {"ConnectTarget", kFlat, kFlat, 3, -1,
       Ask(&N::iscsi, &I::ConnectTarget, {.target_portal = portal, .iqn = "iqn.x:t"})},
      {"GetTargetDisks", kFlat, kFlat, 4, -1,
       Ask(&N::iscsi, &I::GetTargetDisks, {.target_portal = portal, .iqn = "iqn.x:t"})},
      {"StageTarget", kLinear, kLinear, 18, -1,
       Ask(&N::storage, &S::StageTarget,
           {.portals = {"10.0.0.5"}, .iqn = "iqn.x:t", .lun_id = "3", .target_path = below("t")})},
      {"UnstageTarget", kLinear, kFlat, 15, -1,
       Ask(&N::storage, &S::UnstageTarget, {.target_path = below("t"), .iqn = "iqn.x:t"})},
      {"GetService", kFlat, kFlat, 0, 1,
       Ask(&N::system, &system::Service::GetService, {.name = "S"})},
  };
}

// Returns the calls of Windows that one call made; an error if it failed.
inline absl::StatusOr<machine::simulator::CallCounts> CountsOf(const RpcCost& rpc,
                                                               ScaledNode& node) {
  if (rpc.before != nullptr) {
    ABSL_RETURN_IF_ERROR(Prefixed(absl::StrCat("before ", rpc.name), rpc.before(node)));
  }
  const auto before = node.machine->CountCalls();
  ABSL_RETURN_IF_ERROR(Prefixed(rpc.name, rpc.call(node)));
  const auto after = node.machine->CountCalls();
  return machine::simulator::CallCounts{after.win32_calls - before.win32_calls,
                                        after.wmi_calls - before.wmi_calls,
                                        after.wmi_objects - before.wmi_objects};
}

}  // namespace csi_proxy::groups

// A node of any size, and one call of each rpc that drivers call, to count the rpc's calls to
// Windows. scale_test.cc limits the counts; integration/bench/call_counts prints them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tuple>
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

// Returns a node with C: and `size` disks. Half of the disks have a mounted and linked volume each.
// The rest are raw. There are as many mappings as volumes, and an iSCSI target.
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
        host(machine::simulator::wmi::NewSimulatedSession(machine->core()),
             machine::simulator::NewSimulatedOs(machine->core())) {
    HandlerDeps deps;
    deps.host = &host;
    deps.locks = &locks;
    deps.roots = *PathRoots::Parse("root", {R"(C:\var\lib\kubelet)"});
    services = {disk::NewDiskService(deps),       filesystem::NewFilesystemService(deps),
                iscsi::NewIscsiService(deps),     smb::NewSmbService(deps),
                storage::NewStorageService(deps), system::NewSystemService(deps),
                volume::NewVolumeService(deps)};
  }

  static std::string Below(const std::string& rest) { return R"(C:\var\lib\kubelet\)" + rest; }
  uint32_t raw(int n) const { return static_cast<uint32_t>(size - n); }
  template <typename Service>
  Service& of() {
    return *std::get<std::unique_ptr<Service>>(services);
  }

  const int size;
  const std::unique_ptr<machine::simulator::Machine> machine;
  host::Host host;
  const CallContext context{};
  ResourceLocks locks;
  uint64_t grown = uint64_t{1} << 30;
  std::tuple<std::unique_ptr<disk::Service>, std::unique_ptr<filesystem::Service>,
             std::unique_ptr<iscsi::Service>, std::unique_ptr<smb::Service>,
             std::unique_ptr<storage::Service>, std::unique_ptr<system::Service>,
             std::unique_ptr<volume::Service>>
      services;
};

// The calls are made in this order, because one prepares the node for the next.
struct RpcCost {
  const char* name;
  // The numbers by which the counts may grow with each disk of the node.
  int win32, wmi_objects;
  // The limit of WMI calls, and `go`, the WMI calls of csi-proxy v1.3.0 for a disk with two
  // partitions, counted in its pkg/os and pkg/cim, or -1 if that release lacks the rpc. The release
  // opens a connection for each call.
  int most_wmi_calls, go;
  std::function<absl::Status(ScaledNode&)> call;
  // Prepares the call. The calls to Windows for this are not counted.
  std::function<absl::Status(ScaledNode&)> before = nullptr;
};

// Returns a function that makes one call.
template <typename Service, typename Request, typename Response>
std::function<absl::Status(ScaledNode&)> Ask(
    absl::StatusOr<Response> (Service::*rpc)(const CallContext&, const Request&),
    std::type_identity_t<Request> request = {}) {
  return [rpc, request](ScaledNode& node) {
    return (node.of<Service>().*rpc)(node.context, request).status();
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
  const std::string v = VolumeOf(2), staged = N::Below(R"(plugins\2)"), pod = N::Below(R"(pods\2)");
  const std::string fresh = N::Below(R"(plugins\n)");
  const iscsi::TargetPortal portal = {.target_address = "10.0.0.5"};
  const auto stage = [&](storage::DiskSelector disk) {
    return Ask(&S::StageVolume, {.disk = disk, .target_path = fresh});
  };
  const auto stage_raw = [fresh](N& n) {
    return n.of<S>()
        .StageVolume(n.context, {.disk = {.number = absl::StrCat(n.raw(1))}, .target_path = fresh})
        .status();
  };
  const auto unstage = Ask(&S::UnstageVolume, {.target_path = fresh});
  const auto grow = [](N& n) -> absl::Status {
    ABSL_RETURN_IF_ERROR(n.machine->GrowDisk(2, (n.grown += uint64_t{1} << 30)));
    return n.of<D>().Rescan(n.context, {}).status();
  };
  const auto map = [](const std::string& share) {
    return Ask(&M::NewSmbGlobalMapping, {.remote_path = share, .username = "u", .password = "p"});
  };
  const volume::MountVolumeRequest mount = {.volume_id = v, .target_path = staged};
  return {
      {"ListDiskLocations", 0, 1, 1, 1, Ask(&D::ListDiskLocations)},
      {"ListDiskIDs", 2, 1, 1, 1, Ask(&D::ListDiskIDs)},
      {"GetDiskNumberByName", 2, 1, 1, 1, Ask(&D::GetDiskNumberByName, {.disk_name = "id2"})},
      {"Rescan", 0, 0, 1, 1, Ask(&D::Rescan)},
      {"ListDisks", 3, 1, 1, -1, Ask(&S::ListDisks)},
      {"ListDisks that reads them", 16, 2, 2, -1, Ask(&S::ListDisks, {.read_content = true})},
      {"GetVolumeHealth", 0, 0, 2, -1, Ask(&S::GetVolumeHealth, {.volume_id = v})},
      {"ListVolumeHealth of all", 2, 2, 2, -1,
       [](N& n) {
         storage::ListVolumeHealthRequest all;
         for (int i = 1; i <= n.size / 2; ++i) all.volume_ids.push_back(VolumeOf(i));
         return n.of<S>().ListVolumeHealth(n.context, all).status();
       }},
      {"ListVolumesOnDisk", 1, 0, 0, 3, Ask(&V::ListVolumesOnDisk, {.disk_number = 2})},
      {"PartitionDisk", 1, 0, 3, 9,
       [](N& n) { return n.of<D>().PartitionDisk(n.context, {.disk_number = n.raw(0)}).status(); }},
      {"PartitionDisk of a partitioned disk", 1, 0, 2, 3,
       Ask(&D::PartitionDisk, {.disk_number = 2})},
      {"GetDiskStats", 0, 0, 0, 1, Ask(&D::GetDiskStats, {.disk_number = 2})},
      {"GetDiskState", 0, 0, 0, 1, Ask(&D::GetDiskState, {.disk_number = 2})},
      {"PathExists", 0, 0, 0, 0, Ask(&F::PathExists, {.path = pod})},
      {"IsSymlink", 0, 0, 0, 0, Ask(&F::IsSymlink, {.path = pod})},
      {"Mkdir", 0, 0, 0, 0, Ask(&F::Mkdir, {.path = N::Below("new")})},
      {"Rmdir", 0, 0, 0, 0, Ask(&F::Rmdir, {.path = N::Below("new")})},
      {"CreateSymlink", 0, 0, 0, 0,
       Ask(&F::CreateSymlink, {.source_path = staged, .target_path = N::Below("link")})},
      {"Rmdir of a link", 0, 0, 0, 0, Ask(&F::Rmdir, {.path = N::Below("link")})},
      {"GetVolumeStats", 0, 0, 0, 1, Ask(&V::GetVolumeStats, {.volume_id = v})},
      {"GetPathStats", 0, 0, 0, -1, Ask(&S::GetPathStats, {.path = pod})},
      {"ListMounts", 9, 0, 0, -1, Ask(&S::ListMounts)},
      {"ListSmbMappings", 9, 1, 1, -1, Ask(&S::ListSmbMappings)},
      {"GetVolumeIDFromTargetPath", 0, 0, 0, 0,
       Ask(&V::GetVolumeIDFromTargetPath, {.target_path = pod})},
      {"GetClosestVolumeIDFromTargetPath", 0, 0, 0, 2,
       Ask(&V::GetClosestVolumeIDFromTargetPath, {.target_path = pod})},
      {"GetDiskNumberFromVolumeID", 0, 0, 0, 2,
       Ask(&V::GetDiskNumberFromVolumeID, {.volume_id = v})},
      {"IsVolumeFormatted", 0, 0, 0, 1, Ask(&V::IsVolumeFormatted, {.volume_id = v})},
      {"UnmountVolume", 0, 0, 0, 2,
       Ask(&V::UnmountVolume, {.volume_id = v, .target_path = staged})},
      {"FormatVolume", 0, 0, 3, 2, Ask(&V::FormatVolume, {.volume_id = v})},
      {"FormatVolume with overwrite", 1, 0, 3, -1,
       Ask(&S::FormatVolume, {.volume_id = v, .overwrite = true})},
      {"SetDiskReadOnly", 1, 0, 2, -1,
       Ask(&S::SetDiskReadOnly, {.disk_number = 2, .read_only = true})},
      {"SetDiskReadOnly, writable", 1, 0, 0, -1, Ask(&S::SetDiskReadOnly, {.disk_number = 2})},
      {"MountVolume", 0, 0, 1, 0, Ask(&V::MountVolume, mount)},
      {"MountVolume of a mounted volume", 0, 0, 0, 0, Ask(&V::MountVolume, mount)},
      {"ResizeVolume", 0, 0, 2, 5,
       Ask(&V::ResizeVolume, {.volume_id = v, .size_bytes = int64_t{3} << 29}), grow},
      {"ResizeVolume to the maximum", 0, 0, 2, 6, Ask(&V::ResizeVolume, {.volume_id = v}), grow},
      {"ResizeVolume of a full disk", 0, 0, 1, 4, Ask(&V::ResizeVolume, {.volume_id = v})},
      {"WriteVolumeCache", 0, 0, 0, 2, Ask(&V::WriteVolumeCache, {.volume_id = v})},
      {"SetDiskState", 0, 0, 2, 2, Ask(&D::SetDiskState, {.disk_number = 2})},
      // The call lists the node's volumes once while it waits for the volumes of the disk.
      {"SetDiskState, online", 1, 0, 2, 2,
       Ask(&D::SetDiskState, {.disk_number = 2, .is_online = true})},
      {"StageVolume of a raw disk by number", 1, 0, 10, -1, stage_raw},
      {"StageVolume again", 1, 0, 4, -1, stage_raw},
      {"UnstageVolume", 0, 0, 2, -1, unstage},
      {"StageVolume of an offline disk by number", 1, 0, 7, -1, stage_raw},
      {"StageVolume by page 83", 3, 1, 5, -1, stage({.page83 = "id4"}),
       [unstage](N& n) -> absl::Status {
         ABSL_RETURN_IF_ERROR(unstage(n));
         return n.of<V>()
             .UnmountVolume(n.context,
                            {.volume_id = VolumeOf(4), .target_path = N::Below(R"(plugins\4)")})
             .status();
       }},
      {"StageVolume by LUN", 1, 1, 4, -1, stage({.lun_id = "4"})},
      {"NewSmbGlobalMapping of a mapped share", 0, 0, 1, 1, map(ShareOf(2))},
      {"NewSmbGlobalMapping", 0, 0, 2, 2, map(kNewShare)},
      {"NewSmbGlobalMapping, broken", 0, 0, 3, 4, map(kNewShare),
       [](N& n) { return n.machine->BreakMapping(kNewShare); }},
      // The call logs the links to the share, so it reads all links.
      {"RemoveSmbGlobalMapping", 9, 0, 2, 2,
       Ask(&M::RemoveSmbGlobalMapping, {.remote_path = kNewShare})},
      {"StageShare", 0, 0, 2, -1,
       Ask(&S::StageShare, {.remote_path = kNewShare,
                            .target_path = N::Below("s"),
                            .username = "u",
                            .password = "p"})},
      {"UnstageShare", 9, 0, 3, -1, Ask(&S::UnstageShare, {.target_path = N::Below("s")})},
      {"AddTargetPortal", 0, 0, 2, -1, Ask(&I::AddTargetPortal, {.target_portal = portal})},
      {"DiscoverTargetPortal", 0, 0, 3, -1,
       Ask(&I::DiscoverTargetPortal, {.target_portal = portal})},
      {"ConnectTarget", 0, 0, 3, -1,
       Ask(&I::ConnectTarget, {.target_portal = portal, .iqn = "iqn.x:t"})},
      {"GetTargetDisks", 0, 0, 4, -1,
       Ask(&I::GetTargetDisks, {.target_portal = portal, .iqn = "iqn.x:t"})},
      {"StageTarget", 1, 1, 18, -1,
       Ask(&S::StageTarget, {.portals = {"10.0.0.5"},
                             .iqn = "iqn.x:t",
                             .lun_id = "3",
                             .target_path = N::Below("t")})},
      {"UnstageTarget", 1, 0, 13, -1,
       Ask(&S::UnstageTarget, {.target_path = N::Below("t"), .iqn = "iqn.x:t"})},
      {"GetService", 0, 0, 0, 1, Ask(&system::Service::GetService, {.name = "S"})},
  };
}

// Returns the number of one call's calls to Windows, or an error if the call failed.
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

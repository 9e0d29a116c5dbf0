// Lists operations of the host and makes a node on which all of them succeed, for tests in which
// the machine fails.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/base/status_macros.h"
#include "server/host/testing.h"

namespace csi_proxy::host {

inline constexpr char kMoreOfTheNode[] = R"(
  disk { number: 5 size_bytes: 1073741824 style: GPT }
  disk {
    number: 7 size_bytes: 1073741824 style: GPT
    partition { type: MICROSOFT_RESERVED size_bytes: 16777216 }
  }
  disk {
    number: 8 size_bytes: 1073741824 style: GPT
    partition {
      size_bytes: 536870912
      volume { id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000008}\\" file_system: "NTFS" }
    }
  }
  disk { number: 16 size_bytes: 1073741824 page83: "hidden" page83_error { code: 21 } }
  disk {
    number: 6 size_bytes: 1073741824 style: GPT read_only: true
    partition {
      size_bytes: 536870912 mounted_read_only: true
      volume { id: "\\\\?\\Volume{00000000-0000-0000-0000-000000000006}\\" file_system: "NTFS" }
    }
  }
  smb_server { name: "srv" user { name: "u" password: "p" } share { name: "new" }
               share { name: "mapped" } }
  iscsi_portal {
    address: "10.0.0.5"
    target { iqn: "iqn.x:open" disk { number: 21 size_bytes: 1073741824 } }
    target { iqn: "iqn.x:joined" disk { number: 22 size_bytes: 1073741824 } }
  }
  iscsi_portal { address: "10.0.0.6" }
  service { name: "Base" start_type: AUTOMATIC state: RUNNING }
  service { name: "Upper" state: RUNNING depends_on: "Base" }
  service { name: "Idle" start_type: MANUAL }
)";
inline constexpr char kMapped[] = R"(\\srv\mapped)";
inline const IscsiPortal kPortal = {"10.0.0.5", 3260};
inline const VolumeId kVolume = TestVolume(2);
// A volume that is not mounted at a folder.
inline const VolumeId kFreeVolume = TestVolume(8);

struct Operation {
  const char* name;
  std::function<absl::Status(Host&, const CallContext&)> run;
};

// Returns an operation that calls `step` for a disk after GetLayout().
inline auto OnLayout(uint32_t number,
                     absl::Status (DiskHost::*step)(const CallContext&, const DiskDescription&)) {
  return [=](Host& host, const CallContext& context) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(const auto disk, host.disk().GetLayout(context, number));
    return (host.disk().*step)(context, disk);
  };
}

inline absl::StatusOr<std::set<std::string>> SessionIds(Host& host, const CallContext& context) {
  ABSL_ASSIGN_OR_RETURN(const auto sessions, host.iscsi().GetSessions(context, "iqn.x:joined"));
  std::set<std::string> ids;
  for (const IscsiSession& session : sessions) ids.insert(session.id);
  return ids;
}

inline const std::vector<Operation>& HostOperations() {
  using H = Host;
  using C = CallContext;
  static const auto* const kOperations = new std::vector<Operation>{
      {"disks", [](H& h, C c) { return h.disk().ListDisks(c).status(); }},
      {"describe", [](H& h, C c) { return h.disk().Describe(c, 1).status(); }},
      {"rescan", [](H& h, C c) { return h.disk().Rescan(c); }},
      {"layout", [](H& h, C c) { return h.disk().GetLayout(c, 1).status(); }},
      {"initialize", OnLayout(1, &DiskHost::InitializeGpt)},
      {"partition", OnLayout(5, &DiskHost::CreateBasicPartition)},
      {"bring online", [](H& h, C c) { return h.disk().BringPartitionsOnline(c, 2); }},
      {"disk size", [](H& h, C c) { return h.disk().GetSize(c, 1).status(); }},
      {"is blank", [](H& h, C c) { DiskDescription disk; disk.number = 1; return h.disk().FindData(c, disk).status(); }},
      {"is online", [](H& h, C c) { return h.disk().IsOnline(c, 1).status(); }},
      {"online", [](H& h, C c) { return h.disk().SetOnline(c, 3, true).status(); }},
      {"writable", [](H& h, C c) { return h.disk().SetOnline(c, 6, true).status(); }},
      {"offline", [](H& h, C c) { return h.disk().SetOnline(c, 1, false).status(); }},
      {"read-only", [](H& h, C c) { return h.disk().SetReadOnly(c, 5, true); }},
      {"read-write", [](H& h, C c) { return h.disk().SetReadOnly(c, 6, false); }},
      {"promised volumes", [](H& h, C c) { return h.disk().CountPromisedVolumes(c, 2).status(); }},
      {"volumes", [](H& h, C c) { return h.volume().ListVolumes(c, 2, 0).status(); }},
      {"volumes of 1", [](H& h, C c) { return h.volume().ListVolumes(c, 2, 1).status(); }},
      {"no volumes of 1",
       [](H& h, C c) { return h.volume().ListVolumes(c, 7, 1).status(); }},
      {"file system", [](H& h, C c) { return h.volume().GetFileSystem(c, kVolume).status(); }},
      {"is blank volume",
       [](H& h, C c) -> absl::Status {
         ABSL_ASSIGN_OR_RETURN(const auto volume, h.volume().Locate(c, kVolume));
         return h.volume().FindData(c, volume, Look::kAtEnds).status();
       }},
      {"format", [](H& h, C c) { return h.volume().Format(c, kVolume, {}); }},
      {"volume health", [](H& h, C c) { return h.volume().GetHealth(c, kVolume).status(); }},
      {"resize",
       [](H& h, C c) -> absl::Status {
         ABSL_ASSIGN_OR_RETURN(const auto volume, h.volume().Locate(c, kVolume));
         ABSL_ASSIGN_OR_RETURN(const auto room, h.volume().GetGrowthRoom(c, volume));
         return h.volume().Resize(c, volume, room, uint64_t{600} << 20, ResizeTo::kExactly);
       }},
      {"stats", [](H& h, C c) { return h.volume().GetStats(c, kVolume).status(); }},
      {"disk number", [](H& h, C c) { return h.volume().GetDiskNumber(c, kVolume).status(); }},
      {"mount", [](H& h, C c) { return h.volume().Mount(c, kVolume, Kubelet("empty")); }},
      {"unmount", [](H& h, C c) { return h.volume().Unmount(c, kVolume, Kubelet("mounted")); }},
      {"mounted",
       [](H& h, C c) { return h.volume().GetVolumeAtMountPoint(c, Kubelet("mounted")).status(); }},
      {"holding",
       [](H& h, C c) { return h.volume().GetVolumeHolding(c, Kubelet("link\\p1")).status(); }},
      {"mount points",
       [](H& h, C c) {
         VolumeView volume = {.id = kVolume, .extents = {}};
         return h.volume().ReadMounts(c, nullptr, &volume);
       }},
      {"flush", [](H& h, C c) { return h.volume().Flush(c, kVolume); }},
      {"make writable",
       [](H& h, C c) -> absl::Status {
         ABSL_ASSIGN_OR_RETURN(const auto volumes, h.volume().ListOnDisk(c, 6));
         return h.volume().MakeWritable(c, volumes);
       }},
      {"exists", [](H& h, C c) { return h.filesystem().Exists(c, Kubelet("link\\p1")).status(); }},
      {"make", [](H& h, C c) { return h.filesystem().MakeDirectories(c, Kubelet("a\\b")); }},
      {"remove", [](H& h, C c) { return h.filesystem().Remove(c, Kubelet("empty"), false); }},
      {"remove mounted",
       [](H& h, C c) { return h.filesystem().Remove(c, Kubelet("mounted"), false); }},
      {"remove link",
       [](H& h, C c) {
         return h.filesystem().RemoveLink(c, Kubelet("lost"), R"(C:\var\lib\kubelet\none)");
       }},
      {"remove tree", [](H& h, C c) { return h.filesystem().Remove(c, Kubelet("pods"), true); }},
      {"remove contents",
       [](H& h, C c) { return h.filesystem().RemoveContents(c, Kubelet("pods")); }},
      {"link",
       [](H& h, C c) { return h.filesystem().CreateLink(c, Kubelet("pods"), Kubelet("new")); }},
      {"link to share",
       [](H& h, C c) {
         return h.filesystem().CreateLinkToShare(c, *UncPath::Parse("p", kMapped), Kubelet("new"));
       }},
      {"read link", [](H& h, C c) { return h.filesystem().ReadLink(c, Kubelet("link")).status(); }},
      {"peek link", [](H& h, C c) { return h.filesystem().PeekLink(c, Kubelet("link")).status(); }},
      {"path stats",
       [](H& h, C c) { return h.filesystem().GetStats(c, Kubelet("link")).status(); }},
      {"links", [](H& h, C c) { return h.filesystem().ListLinks(c, {Kubelet("")}).status(); }},
      {"mappings", [](H& h, C c) { return h.smb().ListMappings(c).status(); }},
      {"mapping", [](H& h, C c) { return h.smb().GetMapping(c, kMapped).status(); }},
      {"map",
       [](H& h, C c) {
         return h.smb().CreateMapping(c, R"(\\srv\new)", {"u", Secret("p")}, true);
       }},
      {"unmap",
       [](H& h, C c) {
         ABSL_ASSIGN_OR_RETURN(const auto mapping, h.smb().GetMapping(c, kMapped));
         return mapping.has_value() ? h.smb().RemoveMapping(c, *mapping) : absl::OkStatus();
       }},
      {"portals", [](H& h, C c) { return h.iscsi().ListPortals(c).status(); }},
      {"add portal",
       [](H& h, C c) {
         return h.iscsi().AddPortal(c, {"10.0.0.6", 3260});
       }},
      {"remove portal", [](H& h, C c) { return h.iscsi().RemovePortal(c, kPortal); }},
      {"discover", [](H& h, C c) { return h.iscsi().DiscoverTargets(c, kPortal).status(); }},
      {"is connected",
       [](H& h, C c) { return h.iscsi().IsConnected(c, kPortal, "iqn.x:joined").status(); }},
      {"connect", [](H& h, C c) { return h.iscsi().Connect(c, kPortal, "iqn.x:open", {}); }},
      {"disconnect", [](H& h, C c) { return h.iscsi().Disconnect(c, kPortal, "iqn.x:joined"); }},
      {"target disks",
       [](H& h, C c) { return h.iscsi().GetTargetDisks(c, kPortal, "iqn.x:joined").status(); }},
      {"refresh", [](H& h, C c) { return h.iscsi().RefreshPortal(c, kPortal); }},
      {"sessions", [](H& h, C c) { return h.iscsi().GetSessions(c, "iqn.x:joined").status(); }},
      {"open session",
       [](H& h, C c) {
         return h.iscsi()
             .OpenSession(c, kPortal, "iqn.x:open", {}, {.is_persistent = true})
             .status();
       }},
      {"make persistent",
       [](H& h, C c) -> absl::Status {
         ABSL_ASSIGN_OR_RETURN(const auto ids, SessionIds(h, c));
         return h.iscsi().MakePersistent(c, "iqn.x:joined", ids, {}, false);
       }},
      {"end sessions",
       [](H& h, C c) -> absl::Status {
         ABSL_ASSIGN_OR_RETURN(const auto ids, SessionIds(h, c));
         return h.iscsi().EndSessions(c, "iqn.x:joined", ids);
       }},
      {"connected", [](H& h, C c) { return h.iscsi().ListConnected(c, kPortal).status(); }},
      {"chap secret",
       [](H& h, C c) { return h.iscsi().SetMutualChapSecret(c, Secret("twelve-bytes")); }},
      {"serial number", [](H& h, C c) { return h.system().GetBiosSerialNumber(c).status(); }},
      {"service", [](H& h, C c) { return h.system().GetService(c, "Base").status(); }},
      {"dependents", [](H& h, C c) { return h.system().ListActiveDependents(c, "Base").status(); }},
      {"start", [](H& h, C c) { return h.system().RequestStart(c, "Idle"); }},
      {"stop", [](H& h, C c) { return h.system().RequestStop(c, "Upper"); }},
  };
  return *kOperations;
}

// Returns a node on which each of HostOperations() succeeds.
inline NodeState PreparedNode() {
  const std::unique_ptr<Machine> node = TestNode(kMoreOfTheNode);
  const std::unique_ptr<Host> host = NewSimulatedHost(*node);
  const CallContext context;
  EXPECT_THAT(node->MakeDirectory(R"(C:\var\lib\kubelet\empty)"), IsOk());
  EXPECT_THAT(node->MakeDirectory(R"(C:\var\lib\kubelet\mounted)"), IsOk());
  EXPECT_THAT(node->MakeLink(R"(C:\var\lib\kubelet\link)", R"(C:\var\lib\kubelet\pods)"), IsOk());
  EXPECT_THAT(node->MakeLink(R"(C:\var\lib\kubelet\lost)", R"(C:\var\lib\kubelet\none)"), IsOk());
  EXPECT_THAT(host->volume().Mount(context, kVolume, Kubelet("mounted")), IsOk());
  EXPECT_THAT(host->smb().CreateMapping(context, kMapped, {"u", Secret("p")}, true), IsOk());
  EXPECT_THAT(host->iscsi().AddPortal(context, kPortal), IsOk());
  EXPECT_THAT(host->iscsi().Connect(context, kPortal, "iqn.x:joined", {}), IsOk());
  return node->Snapshot();
}

}  // namespace csi_proxy::host

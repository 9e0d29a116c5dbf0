// Makes random faults in a simulated node. kActors lists who must act where no repair exists.
#pragma once

#include <google/protobuf/text_format.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/ctl/rpcs.h"
#include "server/groups/testing/random_nodes.h"
#include "server/simulator/scenario.h"
#include "server/simulator/storage.h"

namespace csi_proxy::ctl::diagnose {

namespace proto = ::csi_proxy::simulated;

// Maps each advice without a repair to its words that name who must act.
inline const std::map<std::string, std::string> kActors = {
    {"long-call", "names the WmiPrvSE.exe of Storage or SMB: end it"},
    {"limited-client", "stop or mend its processes"},
    {"low-limit", "remove the flag from the service's command line"},
    {"offline-by-policy", "a driver that stages it brings it online"},
    {"offline-disk", "check its storage"},
    {"second-path", "let MPIO claim the disks"},
    {"twin-disk", "see duplicate-ids"},
    {"windows-disk", "an administrator of the node"},
    {"colliding-disk", "find out which of the two disks is the copy"},
    {"duplicate-id", "give each LUN an identifier of its own"},
    {"foreign-disk", "ask the owner of the data"},
    {"unhealthy-volume", "check the file system (Repair-Volume) when no pod uses it"},
    {"full-volume", "let the owner of the data"},
    {"dangling-mount-in-use", "delete the pods that use it; the kubelet stages"},
    {"link-to-mount", "attach the disk of the mount again"},
    {"pods-link", "it goes with the pod"},
    {"kubelets-entry", "attach the disk again"},
    {"filled-folder", "stop the pods that use it, move the files aside"},
    {"broken-mapping-in-use", "a driver that stages the volume again makes it again"},
    {"folder-mapping", "remove it on the node with Remove-SmbGlobalMapping"},
    {"link-to-link", "repair the link $0"},
    {"link-without-mapping", "$0"},
    {"link-of-broken-mapping", "it works again when the server answers"},
    {"link-of-refused-share", "mend the cause of that first"},
    {"link-to-old-server", "Delete the pods that use the volume"},
    {"staging-link-in-use", "Delete these pods"},
    {"published-link", "or remove the link"},
    {"link-denied", "check the folder and its permissions on the server"},
    {"link-outside", "no driver uses it"},
    {"stopped-storage-service", "`Set-Service -Name smphost"},
    {"stopped-initiator", "`Set-Service -Name MSiSCSI -StartupType Automatic`"},
    {"old-client", "update the driver"},
};

// Returns the node as textproto, without its delays.
inline std::string Quick(proto::Node node) {
  node.set_volume_arrival_ms(0);
  node.mutable_behaviour()->set_volume_cache_ms(0);
  // With automount disabled, the volume of a disk that is attached again would not return.
  node.mutable_behaviour()->clear_automount_disabled();
  if (node.has_attach()) node.mutable_attach()->set_arrival_ms(0);
  for (proto::Service& service : *node.mutable_service()) service.clear_start_latency_ms();
  return node.DebugString();
}

inline std::string RandomScenario(uint64_t seed) {
  storage::Random random(seed);
  return Quick(storage::RandomNode(&random).Make());
}

inline std::string QuickScenario(absl::string_view textproto) {
  proto::Node node;
  google::protobuf::TextFormat::ParseFromString(std::string(textproto), &node);
  return Quick(std::move(node));
}

using machine::simulator::Disk;
using machine::simulator::Machine;
using machine::simulator::NodeState;

inline void StopService(Machine* machine, const std::string& name,
                        machine::ServiceStartType start_type) {
  machine->core()->Change([&](NodeState& state) {
    std::erase_if(state.services, [&](const auto& service) { return service.name == name; });
    auto& service = state.services.emplace_back();
    service.name = service.display_name = name;
    service.start_type = start_type;
  });
}

class Ills {
 public:
  // `machine` and `rpcs` are not owned and must outlive the object.
  Ills(uint64_t seed, Machine* machine, Rpcs* rpcs)
      : random_(seed), machine_(*machine), rpcs_(*rpcs) {}

  void Make() {
    if (random_.OneIn(16)) LoseTheKubeletsDisk();
    NodeState state = machine_.Snapshot();
    for (const Disk* disk : machine::simulator::AllDisks(state)) {
      if (!random_.OneIn(4)) StageAndSpoil(disk->number);
    }
    AttachDisks();
    MakeFolders();
    MakeShares();
    if (random_.OneIn(2)) {
      StopService(&machine_, "MSiSCSI",
                  random_.OneIn(2) ? machine::ServiceStartType::kAutomatic
                                   : machine::ServiceStartType::kDisabled);
    }
    if (random_.OneIn(8)) {
      is_frozen_ = true;
      ChangeDisks([](Disk& d) { d.read_only |= machine::simulator::IsBoot(d); });
    }
    if (random_.OneIn(8)) {
      machine::simulator::FaultRule rule;
      rule.operation = "storage.ListSmbMappings";
      rule.times = 1;
      rule.code = absl::StatusCode::kInternal;
      machine_.InjectFault(rule).IgnoreError();
    }
    if (random_.OneIn(8)) {
      StopService(&machine_, "smphost", machine::ServiceStartType::kDisabled);
    }
  }

  // Returns the metrics of a service: with a flooding client of iSCSI and other faults if the node
  // is flooded, otherwise without clients.
  std::string metrics() const {
    if (!is_flooded_) return "csi_proxy_start_time_seconds 1\n";
    return R"(csi_proxy_client_limited_total{client_image="a.exe",limit="calls"} 10228
csi_proxy_flag{flag="max-workers",default="16"} 4
csi_proxy_long_call_seconds{rpc="volume.UnmountVolume"} 75.4
csi_proxy_api_calls_total{client_image="old.exe",group="disk",version="v1beta1"} 3
csi_proxy_api_calls_total{client_image="a.exe",group="iscsi",version="v1alpha2"} 1
)";
  }

  // Returns true if nothing can be written on C:.
  bool is_frozen() const { return is_frozen_; }

  // Attaches the disks that were detached, and brings the disks that went offline back online.
  void GiveBackDisks() {
    // Bypasses AttachDisk(), which would first check the node and its unprintable links.
    machine_.core()->Change([this](NodeState& state) {
      state.disks.insert(state.disks.end(), detached_.begin(), detached_.end());
    });
    ChangeDisks([this](Disk& disk) { disk.online |= offline_.contains(disk.number); });
  }

 private:
  static std::string Staged(const std::string& name) {
    return absl::StrCat(R"(C:\var\lib\kubelet\plugins\kubernetes.io\csi\)", name,
                        R"(\globalmount)");
  }
  static std::string Published(const std::string& name) {
    return absl::StrCat(R"(C:\var\lib\kubelet\pods\)", name,
                        R"(\volumes\kubernetes.io~csi\v\mount)");
  }

  template <typename Action>
  void ChangeDisks(Action action) {
    machine_.core()->Change([&](NodeState& state) {
      for (Disk* disk : machine::simulator::AllDisks(state)) action(*disk);
    });
  }

  // Makes a link whose target is spelt as given.
  void Link(const std::string& path, const std::string& target) {
    machine_.MakeLink(path, R"(C:\none)").IgnoreError();
    ChangeDisks([&](Disk& disk) {
      for (auto& p : disk.partitions) {
        if (!p.volume.has_value() || p.volume->drive_letter != 'C') continue;
        machine::simulator::Tree& tree = p.volume->tree;
        for (const auto id : tree.Walk()) {
          if (absl::StrCat("C:\\", tree.PathOf(id)) == path) tree.SetLink(id, target);
        }
      }
    });
  }

  // Makes a pod's link to a staged volume, in one of several spellings that Windows treats as
  // equal.
  void Use(const std::string& name, const std::string& folder = R"(\data)") {
    std::string target = Staged(name);
    if (random_.OneIn(3)) target = absl::AsciiStrToUpper(target);
    Link(Published(name), target + random_.Of<std::string>({"", "\\", folder}));
  }

  void StageAndSpoil(uint32_t number) {
    const std::string name = absl::StrCat("d", number), n = absl::StrCat(number);
    const auto staged =
        rpcs_.Call("storage.StageVolume", {{"disk.number", n}, {"target_path", Staged(name)}});
    if (!staged.ok()) return;
    const bool has_data = machine_.WriteFile(Staged(name) + R"(\data\kept)", 4096, false).ok();
    if (random_.OneIn(3)) {
      Use(name, has_data ? R"(\data)" : "");
    } else if (random_.OneIn(3)) {
      machine_.MakeDirectory(Published(name)).IgnoreError();
      rpcs_
          .Call("volume.MountVolume",
                {{"volume_id", staged->Text("volume_id")}, {"target_path", Published(name)}})
          .status()
          .IgnoreError();
    }
    switch (random_.Below(6)) {
      case 0:
        ChangeDisks([&](const Disk& disk) {
          if (disk.number == number) detached_.push_back(disk);
        });
        machine_.DetachDisk(number).IgnoreError();
        break;
      case 1:
        offline_.insert(number);
        ChangeDisks([&](Disk& disk) {
          if (disk.number != number) return;
          disk.online = false;
          disk.facts.offline_reason = static_cast<uint16_t>(random_.Below(8));
        });
        break;
      case 2: {
        const auto stats = rpcs_.Call("storage.GetPathStats", {{"path", Staged(name)}});
        if (!stats.ok()) break;
        machine_
            .WriteFile(Staged(name) + R"(\full)", stats->Number("available_bytes") - 4096, false)
            .IgnoreError();
        break;
      }
      case 3:
        ChangeDisks([&](Disk& disk) { disk.read_only |= disk.number == number; });
        break;
      case 4:
        ChangeDisks([&](Disk& disk) {
          for (auto& p : disk.partitions) {
            if (disk.number == number && p.volume.has_value()) p.volume->dirty = true;
          }
        });
        break;
      default:
        break;
    }
  }

  // Replaces the directory of all pods by a link whose target is missing.
  void LoseTheKubeletsDisk() {
    const std::string pods = R"(C:\var\lib\kubelet\pods)";
    rpcs_.Call("filesystem.Rmdir", {{"path", pods}, {"force", "true"}}).status().IgnoreError();
    Link(pods, R"(C:\var\lib\kubelet\moved)");
  }

  void AttachDisks() {
    for (uint64_t left = random_.Below(5); left > 0; --left) {
      Disk disk;
      disk.size_bytes = uint64_t{1} << 30;
      disk.page83 = absl::StrCat("more-", random_.Below(3));
      disk.online = random_.OneIn(2);
      disk.read_only = random_.OneIn(2);
      if (!disk.online) disk.facts.offline_reason = static_cast<uint16_t>(random_.Below(8));
      if (random_.OneIn(2)) disk.foreign = {{0x438, "\x53\xEF"}};
      // The number must differ from that of a detached disk, which is attached again later.
      machine_.AttachDisk(disk, static_cast<uint32_t>(90 + left)).status().IgnoreError();
    }
  }

  void MakeFolders() {
    const std::string kubelet = R"(C:\var\lib\kubelet\)", none = kubelet + "none";
    if (random_.OneIn(2)) Link(kubelet + R"(plugins\lost)", none);
    if (random_.OneIn(2)) Link(kubelet + R"(pods\e\volumes\kubernetes.io~empty-dir\e\l)", none);
    Link(kubelet + R"(plugins\outside)", R"(C:\outside)");
    if (random_.OneIn(2)) machine_.WriteFile(Staged("f") + R"(\data)", 5, false).IgnoreError();
  }

  void MakeShares() {
    constexpr char kServer[] = R"(\\nas.example\)";
    std::vector<machine::simulator::SmbMappingState> mappings;
    std::vector<std::string> refused, moved;
    machine_.core()->Change([](NodeState& state) {
      auto& server = state.smb_servers.emplace_back();
      server.name = "nas.example";
      server.users.push_back({"u", Secret(std::string("p"))});
      for (int i = 0; i < 6; ++i) server.shares.emplace_back().name = absl::StrCat("s", i);
    });
    for (int i = 0; i < 6; ++i) {
      const std::string name = absl::StrCat("s", i), share = kServer + name;
      if (random_.OneIn(2)) {
        Link(Staged(name), share + random_.Of<std::string>({"", "\\"}));
        if (random_.OneIn(2)) Use(name);
        if (random_.OneIn(4)) refused.push_back(name);
        if (random_.OneIn(4)) moved.push_back(name);
      } else if (random_.OneIn(3)) {
        Link(Published(name), share);
      }
      if (random_.OneIn(3)) continue;
      auto& mapping = mappings.emplace_back();
      mapping.remote_path = share + (random_.OneIn(5) ? R"(\folder)" : "");
      mapping.username = "u";
      mapping.idle = random_.OneIn(3);
      mapping.denied = random_.OneIn(3);
      if (random_.OneIn(5))
        mapping.local_path = absl::StrCat(std::string(1, static_cast<char>('P' + i)), ":");
    }
    const auto fail = [&](const std::string& share, const std::string& target) {
      rpcs_
          .Call("storage.StageShare", {{"remote_path", share},
                                       {"target_path", target},
                                       {"username", "u"},
                                       {"password", "wrong"}})
          .status()
          .IgnoreError();
    };
    for (const std::string& name : refused) fail(kServer + name, Staged("refused"));
    for (const std::string& name : moved) fail(R"(\\new.example\)" + name, Staged(name));
    machine_.core()->Change([&](NodeState& state) {
      state.smb_mappings.insert(state.smb_mappings.end(), mappings.begin(), mappings.end());
    });
  }

  storage::Random random_;
  Machine& machine_;
  Rpcs& rpcs_;
  std::vector<Disk> detached_;
  std::set<uint32_t> offline_;
  bool is_flooded_ = random_.OneIn(3), is_frozen_ = false;
};

}  // namespace csi_proxy::ctl::diagnose

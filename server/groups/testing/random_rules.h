// The rules for changes of a node by a call. They read the machine's state, not the product's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "csi_proxy/steady_time.h"
#include "server/groups/testing/random_calls.h"
#include "server/simulator/scenario.h"
#include "server/simulator/storage.h"

namespace csi_proxy::storage {

namespace proto = ::csi_proxy::simulated;
using machine::simulator::AllDisks;
using machine::simulator::Disk;
using machine::simulator::DiskPartition;
using machine::simulator::NodeState;
using machine::simulator::PartitionType;
using Style = machine::simulator::PartitionStyle;
using machine::simulator::Tree;

inline constexpr char kBelowRoot[] = R"(var\lib\kubelet\)";
inline bool IsMine(const Tree& tree, Tree::Id id) {
  return absl::StartsWithIgnoreCase(absl::StrCat(tree.PathOf(id), "\\"), kBelowRoot);
}

inline bool HasArrived(SteadyTime at) { return at <= SteadyTime::Now(); }

inline const Disk* Find(NodeState& state, uint32_t number) {
  for (const Disk* disk : AllDisks(state)) {
    if (disk->number == number) return disk;
  }
  return nullptr;
}

inline bool Holds(const Disk& disk, const VolumeId& id) {
  return std::any_of(disk.partitions.begin(), disk.partitions.end(), [&](const DiskPartition& p) {
    return p.volume.has_value() && p.volume->id == id;
  });
}

// Returns the online disk that contains a volume, or null.
inline const Disk* DiskOf(NodeState& state, const std::string& volume) {
  const auto id = VolumeId::Parse(volume);
  for (const Disk* disk : AllDisks(state)) {
    if (id.ok() && disk->online && Holds(*disk, *id)) return disk;
  }
  return nullptr;
}

// Returns true if Windows runs on the disk or starts from it.
inline bool IsWindows(const Disk& disk) {
  return disk.facts.is_boot || disk.facts.is_system ||
         std::any_of(disk.partitions.begin(), disk.partitions.end(), [](const DiskPartition& p) {
           return p.volume.has_value() && p.volume->drive_letter == 'C';
         });
}

// Returns the folders of C: with a mounted volume: the drivers' folders if `mine`, else all others.
inline std::map<std::string, std::string> Mounts(NodeState& state, bool mine) {
  std::map<std::string, std::string> mounts;
  for (const Disk* disk : AllDisks(state)) {
    for (const DiskPartition& partition : disk->partitions) {
      if (!partition.volume.has_value() || partition.volume->drive_letter != 'C') continue;
      const Tree& tree = partition.volume->tree;
      for (const Tree::Id id : tree.Walk()) {
        if (!tree.at(id).mounted.has_value() || IsMine(tree, id) != mine) continue;
        mounts[absl::StrCat("C:\\", tree.PathOf(id))] = tree.at(id).mounted->ToString();
      }
    }
  }
  return mounts;
}

// Returns true if Windows is on the disk, or if a volume of it has a drive letter or is mounted at
// a folder that is no driver's. Ignores volumes that have not arrived unless `once_there` is set.
inline bool IsUsed(NodeState& state, const Disk& disk, bool once_there = false) {
  if (IsWindows(disk)) return true;
  const auto outside = Mounts(state, false);
  return std::any_of(disk.partitions.begin(), disk.partitions.end(), [&](const DiskPartition& p) {
    const bool is_there = disk.online && !p.awaits_online && HasArrived(p.arrives_at);
    if (!p.volume.has_value() || !(is_there || once_there)) return false;
    return p.volume->drive_letter != 0 ||
           std::any_of(outside.begin(), outside.end(),
                       [&](const auto& mount) { return mount.second == p.volume->id.ToString(); });
  });
}

// Returns true if the volume is mounted at a folder. If `older`, as for the older FormatVolume,
// ignores the folders that an administrator gave to local-static-provisioner.
inline bool IsMounted(NodeState& state, const VolumeId& id, bool older) {
  std::map<std::string, std::string> mounts = Mounts(state, true);
  if (older) {
    std::erase_if(mounts, [](const auto& mount) {
      return !absl::StrContains(mount.first, "plugins") && !absl::StrContains(mount.first, "pods");
    });
  }
  mounts.merge(Mounts(state, false));
  return std::ranges::any_of(mounts,
                             [&](const auto& mount) { return mount.second == id.ToString(); });
}

inline bool HasForeign(const Disk& disk, uint64_t begin, uint64_t size) {
  return std::any_of(disk.foreign.begin(), disk.foreign.end(), [&](const auto& bytes) {
    return bytes.offset_bytes < begin + size && begin < bytes.offset_bytes + bytes.bytes.size();
  });
}

inline bool IsReserved(const DiskPartition& p) {
  return p.type == PartitionType::kMicrosoftReserved;
}

inline bool HasOnlyReserved(const Disk& disk) {
  return std::all_of(disk.partitions.begin(), disk.partitions.end(), IsReserved);
}

// Returns the disk without the working directory and the fields that a rescan or time changes.
inline proto::Disk Lasting(Disk disk) {
  disk.size_bytes = std::max(disk.size_bytes, disk.grown_size_bytes);
  disk.grown_size_bytes = 0;
  disk.awaits_rescan = false;
  disk.arrives_at = SteadyTime::InfinitePast();
  disk.facts.offline_reason = 0;
  for (DiskPartition& partition : disk.partitions) {
    partition.arrives_at = partition.cached_at = SteadyTime::InfinitePast();
    partition.awaits_online = partition.mounted_read_only = false;
    if (!partition.volume.has_value()) continue;
    partition.volume->stale_folders.clear();
    if (partition.volume->drive_letter != 'C') continue;
    Tree& tree = partition.volume->tree;
    for (const Tree::Id id : tree.Walk()) {
      if (tree.Has(id) && IsMine(tree, id)) tree.Remove(id);
    }
  }
  return machine::simulator::DiskToProto(disk);
}

// Returns the LUN that the cloud assigned to the disk, or "". An NVMe disk of Azure shows only an
// address, which is the LUN plus one.
inline std::string LunOf(const Disk& disk) {
  const std::string lun = "LUN ";
  const size_t at = disk.location.find(lun);
  if (at != std::string::npos) return disk.location.substr(at + lun.size());
  return disk.facts.lun == 0 ? "" : absl::StrCat(disk.facts.lun - 1);
}

// Returns true if a selector may mean the disk.
inline bool Means(const DiskSelector& wanted, const Disk& disk) {
  if (!wanted.number.empty()) return wanted.number == absl::StrCat(disk.number);
  if (!wanted.serial_number.empty()) {
    absl::string_view rest = disk.serial_number;
    return absl::ConsumePrefix(&rest, wanted.serial_number) &&
           (rest.empty() || absl::StartsWith(rest, "_0000000"));
  }
  if (!wanted.page83.empty()) {
    return disk.page83_error.has_value() || disk.page83 == wanted.page83 || !disk.facts.eui.empty();
  }
  const std::string adapter = absl::StrCat("Adapter ", wanted.adapter);
  return LunOf(disk) == wanted.lun_id &&
         (wanted.adapter.empty() || absl::StrContains(disk.location, adapter));
}

inline std::string AdapterOf(const Disk& disk) {
  const size_t at = disk.location.find("Adapter ");
  return at == std::string::npos ? "" : disk.location.substr(at, sizeof("Adapter 0") - 1);
}

// Returns true if `wanted` has a LUN and no adapter, and a disk of Windows with a LUN is on the
// disk's adapter. Then `wanted` cannot select the disk.
inline bool IsBesideWindows(const DiskSelector& wanted, NodeState& state, const Disk& disk) {
  if (wanted.lun_id.empty() || !wanted.adapter.empty() || AdapterOf(disk).empty()) return false;
  const std::vector<Disk*> all = AllDisks(state);
  return std::any_of(all.begin(), all.end(), [&](const Disk* other) {
    return IsWindows(*other) && !LunOf(*other).empty() && AdapterOf(*other) == AdapterOf(disk);
  });
}

// Returns true if the disk is one of the iSCSI target's.
inline bool IsOf(const NodeState& state, const std::string& iqn, const Disk& disk) {
  for (const auto& portal : state.iscsi_portals) {
    for (const auto& target : portal.targets) {
      if (!EqualNames(target.iqn, iqn)) continue;
      for (const Disk& of : target.disks) {
        if (of.number == disk.number) return true;
      }
    }
  }
  return false;
}

// Applies to `was` the changes of `is` that a format of the volume may make.
inline void AllowFormat(const VolumeId& id, const Disk& is, Disk* was, bool overwrite,
                        bool foreign_too) {
  for (size_t i = 0; i < was->partitions.size() && i < is.partitions.size(); ++i) {
    auto& before = was->partitions[i];
    const auto& after = is.partitions[i];
    if (!before.volume.has_value() || !after.volume.has_value() || before.volume->id != id)
      continue;
    if (!overwrite && !before.volume->file_system.empty()) continue;
    if (!foreign_too && HasForeign(*was, before.offset_bytes, before.size_bytes)) continue;
    const char letter = before.volume->drive_letter;
    before.volume = after.volume;
    before.volume->drive_letter = letter;
    if (foreign_too) was->foreign = is.foreign;
  }
}

inline void AllowGrowth(const VolumeId* id, const Disk& is, Disk* was) {
  for (size_t i = 0; i < was->partitions.size() && i < is.partitions.size(); ++i) {
    auto& before = was->partitions[i];
    if (!before.volume.has_value() || (id != nullptr && before.volume->id != *id)) continue;
    before.size_bytes = std::max(before.size_bytes, is.partitions[i].size_bytes);
    if (!is.partitions[i].volume.has_value()) continue;
    const uint64_t extended = is.partitions[i].volume->file_system_bytes;
    if (extended == 0 || extended > before.volume->file_system_bytes) {
      before.volume->file_system_bytes = extended;
    }
  }
}

// Allows the disk to come online and to become writable. A copy that comes online beside its
// original may get new names.
inline void AllowOnline(NodeState& state, const Disk& is, Disk* was) {
  const std::vector<Disk*> all = AllDisks(state);
  const bool collides = std::any_of(all.begin(), all.end(), [&](const Disk* other) {
    return other->online && other->number != was->number &&
           other->facts.disk_id == was->facts.disk_id;
  });
  if (!was->online && is.facts.disk_id.empty() && collides) {
    was->facts.disk_id.clear();
    for (size_t i = 0; i < was->partitions.size() && i < is.partitions.size(); ++i) {
      if (!was->partitions[i].volume.has_value() || !is.partitions[i].volume.has_value()) continue;
      was->partitions[i].volume->id = is.partitions[i].volume->id;
    }
  }
  was->online = was->online || is.online;
  was->read_only = was->read_only && is.read_only;
}

inline void AllowPartitioning(const Disk& is, Disk* was) {
  if (was->style == Style::kRaw) was->style = is.style;
  std::vector<DiskPartition> partitions = is.partitions;
  for (const DiskPartition& old : was->partitions) {
    for (DiskPartition& p : partitions) {
      if (p.number == old.number) p = old;
    }
  }
  for (DiskPartition& p : partitions) {
    if (p.volume.has_value()) p.volume->file_system = "", p.volume->tree = Tree();
  }
  was->partitions = partitions;
}

inline void Allow(const Call& call, NodeState& state, const Disk& is, Disk* was) {
  const auto id = VolumeId::Parse(call.volume);
  const bool is_windows = IsWindows(*was);
  const bool is_used = IsUsed(state, *was);
  const bool is_named = call.number == was->number;
  const bool holds = id.ok() && was->online && Holds(*was, *id);
  switch (call.api) {
    case Api::kStage:
    case Api::kStageTarget: {
      const bool is_meant =
          call.api == Api::kStage ? Means(call.selector, *was) : IsOf(state, call.iqn, *was);
      if (is_used || !is_meant) return;
      const bool is_raw = was->style == Style::kRaw;
      if (is_raw && HasForeign(*was, 0, was->size_bytes)) return;
      const bool gets_used = IsUsed(state, is, true);
      AllowOnline(state, is, was);
      if (gets_used) return;
      if (HasOnlyReserved(*was)) AllowPartitioning(is, was);
      AllowGrowth(nullptr, is, was);
      for (const DiskPartition& p : std::vector<DiskPartition>(was->partitions)) {
        if (p.volume.has_value()) AllowFormat(p.volume->id, is, was, false, false);
      }
      return;
    }
    case Api::kUnstage:
    case Api::kUnstageTarget: {
      const auto mounts = Mounts(state, true);
      const auto mount = mounts.find(call.target);
      const bool keeps = call.api == Api::kUnstage && call.flag;
      if (is_used || keeps || mount == mounts.end()) return;
      if (!Holds(*was, *VolumeId::Parse(mount->second))) return;
      for (const auto& [folder, volume] : mounts) {
        if (folder != mount->first && Holds(*was, *VolumeId::Parse(volume))) return;
      }
      was->online = was->online && is.online;
      return;
    }
    case Api::kFormat:
      if (!is_used && holds && !IsMounted(state, *id, false))
        AllowFormat(*id, is, was, call.flag, call.flag);
      return;
    case Api::kSetReadOnly:
      if (is_named && (!call.flag || !is_used)) was->read_only = is.read_only;
      return;
    case Api::kPartition:
      if (is_windows || !is_named) return;
      AllowOnline(state, is, was);
      if (!HasOnlyReserved(*was)) return;
      AllowPartitioning(is, was);
      was->foreign = is.foreign;
      return;
    case Api::kSetState:
      if (!is_named) return;
      if (call.flag) AllowOnline(state, is, was);
      if (!call.flag && !is_windows) was->online = was->online && is.online;
      return;
    case Api::kOldFormat:
      if (!is_windows && holds && !IsMounted(state, *id, true))
        AllowFormat(*id, is, was, true, true);
      return;
    case Api::kResize:
      if (!is_windows && holds) AllowGrowth(&*id, is, was);
      return;
    default:
      return;
  }
}

// Allows the changes that Windows may make for a call after its caller has left. `then` is the
// state at the call, `now` the current one. Newer letters and mounts of an administrator do not
// forbid the changes, because the product cannot stop Windows. A driver's mount forbids them,
// because the call that mounts must first await them.
inline void AllowLate(const Call& call, NodeState& then, NodeState& now, const Disk& is,
                      Disk* was) {
  const Disk* const first = Find(then, was->number);
  const bool is_mounted = std::ranges::any_of(Mounts(now, true), [&](const auto& mount) {
    return Holds(*was, *VolumeId::Parse(mount.second));
  });
  if (is_mounted || first == nullptr) return Allow(call, now, is, was);
  using Letters = std::map<VolumeId, char>;
  const auto letters_of = [](const Disk& disk) {
    Letters letters;
    for (const DiskPartition& p : disk.partitions) {
      if (p.volume.has_value()) letters[p.volume->id] = p.volume->drive_letter;
    }
    return letters;
  };
  const auto give = [](Letters letters, Disk* disk) {
    for (DiskPartition& p : disk->partitions) {
      if (p.volume.has_value()) p.volume->drive_letter = letters[p.volume->id];
    }
  };
  Letters letters = letters_of(*was);
  letters.merge(letters_of(is));
  Disk seen = is;
  give(letters_of(*first), &seen);
  give(letters_of(*first), was);
  Allow(call, then, seen, was);
  give(letters, was);
}

}  // namespace csi_proxy::storage

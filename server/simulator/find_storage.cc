// Finds disks and volumes.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "csi_proxy/steady_time.h"
#include "server/simulator/iscsi.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulator {
namespace {

bool HasArrived(SteadyTime arrives_at) {
  return arrives_at == SteadyTime::InfinitePast() || arrives_at <= SteadyTime::Now();
}

bool IsSeen(const Disk& disk) { return !disk.awaits_rescan && HasArrived(disk.arrives_at); }

// Calls `visit` with the disks that Windows sees, in any order, until `visit` returns true.
template <typename Visit>
void VisitVisibleDisks(NodeState& state, Visit visit) {
  for (Disk& disk : state.disks) {
    if (IsSeen(disk) && visit(disk)) return;
  }
  for (IscsiPortalState& portal : state.iscsi_portals) {
    for (IscsiTarget& target : portal.targets) {
      if (!ShowsDisks(state, target)) continue;
      for (Disk& disk : target.disks) {
        if (!disk.awaits_rescan && visit(disk)) return;
      }
    }
  }
}

// Returns the volume of a partition, if Windows sees the volume.
std::optional<VolumePlace> VolumeOf(Disk& disk, DiskPartition& partition) {
  if (!disk.online || !partition.volume.has_value() || partition.awaits_online) return std::nullopt;
  if (!HasArrived(partition.arrives_at)) return std::nullopt;
  return VolumePlace{&disk, &partition, &*partition.volume};
}

// Indexes the disks, volumes and drives of `state.disks`, but not the disks of iSCSI targets.
DeviceIndex IndexDevices(const NodeState& state) {
  DeviceIndex index;
  for (size_t d = 0; d < state.disks.size(); ++d) {
    const Disk& disk = state.disks[d];
    index.disks[disk.number] = {d, 0};
    for (size_t p = 0; p < disk.partitions.size(); ++p) {
      const auto& volume = disk.partitions[p].volume;
      if (!volume.has_value()) continue;
      index.volumes[volume->id] = {d, p};
      if (volume->drive_letter != 0) index.drives[volume->drive_letter] = {d, p};
    }
  }
  return index;
}

bool IsAmong(const std::vector<Disk>& disks, const Disk& disk) {
  return std::any_of(disks.begin(), disks.end(), [&](const Disk& d) { return &d == &disk; });
}

// Finds a volume that Windows sees and for which `matches(volume)` is true, if any. Tries the place
// of `key` in `index` first.
template <typename Places, typename Key, typename Predicate>
std::optional<VolumePlace> FindVolumeIf(NodeState& state, Places DeviceIndex::*index,
                                        const Key& key, Predicate matches) {
  const auto found = [&](Disk& disk, DiskPartition& partition) -> std::optional<VolumePlace> {
    if (!partition.volume.has_value() || !matches(*partition.volume)) return std::nullopt;
    return VolumeOf(disk, partition);
  };
  std::optional<VolumePlace> place;
  const auto& places = state.device_index.*index;
  if (const auto it = places.find(key);
      it != places.end() && it->second.disk < state.disks.size()) {
    Disk& disk = state.disks[it->second.disk];
    if (IsSeen(disk) && it->second.partition < disk.partitions.size()) {
      place = found(disk, disk.partitions[it->second.partition]);
    }
  }
  if (place.has_value()) return place;
  VisitVisibleDisks(state, [&](Disk& disk) {
    for (DiskPartition& partition : disk.partitions) {
      place = found(disk, partition);
      if (place.has_value()) return true;
    }
    return false;
  });
  if (place.has_value() && IsAmong(state.disks, *place->disk)) {
    state.device_index = IndexDevices(state);
  }
  return place;
}

// Visits all volumes, even if their disk is offline or not visible.
template <typename Visit>
void VisitVolumes(NodeState& state, Visit visit) {
  for (Disk* disk : AllDisks(state)) {
    for (DiskPartition& partition : disk->partitions) {
      if (partition.volume.has_value()) visit(*partition.volume);
    }
  }
}

// Returns the volume's drive and the folders where it is mounted. A folder in a volume without a
// letter has the names of that volume's folders. `above` has the volumes on the way, so that a
// circle of mounts ends.
std::vector<std::string> MountPoints(const std::vector<const Volume*>& all, const Volume& volume,
                                     std::vector<const Volume*> above) {
  std::vector<std::string> points;
  if (volume.drive_letter != 0) points.push_back(FolderName(volume, Tree::kRoot));
  if (std::find(above.begin(), above.end(), &volume) != above.end()) return points;
  above.push_back(&volume);
  for (const Volume* holder : all) {
    const std::vector<Tree::Id> mounts = holder->tree.MountsOf(volume.id);
    if (mounts.empty()) continue;
    const std::vector<std::string> names = holder->drive_letter != 0
                                               ? std::vector{FolderName(*holder, Tree::kRoot)}
                                               : MountPoints(all, *holder, above);
    for (const std::string& name : names) {
      for (const Tree::Id id : mounts) {
        points.push_back(absl::StrCat(name, holder->tree.PathOf(id), "\\"));
      }
    }
  }
  return points;
}

}  // namespace

std::vector<std::string> MountPointsOf(NodeState& state, const Volume& volume) {
  std::vector<const Volume*> all;
  for (Disk* disk : VisibleDisks(state)) {
    for (DiskPartition& partition : disk->partitions) {
      const std::optional<VolumePlace> place = VolumeOf(*disk, partition);
      if (place.has_value()) all.push_back(place->volume);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Volume* a, const Volume* b) {
    return a->drive_letter < b->drive_letter;
  });
  std::vector<std::string> points = MountPoints(all, volume, {});
  for (const std::string& folder : volume.stale_folders) {
    if (std::find(points.begin(), points.end(), folder) == points.end()) points.push_back(folder);
  }
  return points;
}

std::string FolderName(const Volume& holder, Tree::Id folder) {
  if (holder.drive_letter == 0) return "";
  const std::string drive = absl::StrFormat("%c:\\", holder.drive_letter);
  return folder == Tree::kRoot ? drive : absl::StrCat(drive, holder.tree.PathOf(folder), "\\");
}

void KeepStaleFolder(NodeState& state, const VolumeId& volume, const std::string& folder) {
  if (folder.empty()) return;
  VisitVolumes(state, [&](Volume& other) {
    if (other.id == volume) other.stale_folders.push_back(folder);
  });
}

void ForgetStaleFolder(NodeState& state, const std::string& folder) {
  VisitVolumes(state, [&](Volume& volume) { std::erase(volume.stale_folders, folder); });
}

std::vector<Disk*> AllDisks(NodeState& state) {
  std::vector<Disk*> disks;
  for (Disk& disk : state.disks) disks.push_back(&disk);
  for (IscsiPortalState& portal : state.iscsi_portals) {
    for (IscsiTarget& target : portal.targets) {
      for (Disk& disk : target.disks) disks.push_back(&disk);
    }
  }
  return disks;
}

std::vector<Disk*> VisibleDisks(NodeState& state) {
  std::vector<Disk*> disks;
  VisitVisibleDisks(state, [&](Disk& disk) {
    disks.push_back(&disk);
    return false;
  });
  std::sort(disks.begin(), disks.end(),
            [](const Disk* a, const Disk* b) { return a->number < b->number; });
  return disks;
}

Disk* FindVisibleDisk(NodeState& state, uint32_t disk_number) {
  const auto it = state.device_index.disks.find(disk_number);
  if (it != state.device_index.disks.end() && it->second.disk < state.disks.size()) {
    Disk& disk = state.disks[it->second.disk];
    if (disk.number == disk_number && IsSeen(disk)) return &disk;
  }
  Disk* found = nullptr;
  VisitVisibleDisks(state, [&](Disk& disk) {
    if (disk.number != disk_number) return false;
    found = &disk;
    return true;
  });
  if (found != nullptr && IsAmong(state.disks, *found)) state.device_index = IndexDevices(state);
  return found;
}

size_t CountDevices(NodeState& state) {
  size_t count = 0;
  VisitVisibleDisks(state, [&](Disk& disk) {
    ++count;
    for (DiskPartition& partition : disk.partitions) count += VolumeOf(disk, partition).has_value();
    return false;
  });
  return count;
}

SteadyTime NextArrival(const NodeState& state) {
  SteadyTime next = SteadyTime::InfiniteFuture();
  const auto consider = [&next](SteadyTime arrives_at) {
    if (!HasArrived(arrives_at)) next = std::min(next, arrives_at);
  };
  for (const Disk& disk : state.disks) {
    if (!disk.awaits_rescan) consider(disk.arrives_at);
    for (const DiskPartition& partition : disk.partitions) consider(partition.arrives_at);
  }
  for (const IscsiPortalState& portal : state.iscsi_portals) {
    for (const IscsiTarget& target : portal.targets) {
      for (const Disk& disk : target.disks) {
        for (const DiskPartition& partition : disk.partitions) consider(partition.arrives_at);
      }
    }
  }
  return next;
}

absl::StatusOr<Disk*> FindDisk(NodeState& state, uint32_t disk_number) {
  Disk* const disk = FindVisibleDisk(state, disk_number);
  if (disk != nullptr && !disk->without_number) return disk;
  return absl::NotFoundError(absl::StrCat("there is no disk ", disk_number));
}

absl::StatusOr<VolumePlace> FindVolume(NodeState& state, const VolumeId& id) {
  const auto place = FindVolumeIf(state, &DeviceIndex::volumes, id,
                                  [&](const Volume& volume) { return volume.id == id; });
  if (place.has_value()) return *place;
  return absl::NotFoundError(absl::StrCat("there is no volume ", id.ToString()));
}

absl::StatusOr<VolumePlace> FindDrive(NodeState& state, char letter) {
  const auto place = FindVolumeIf(state, &DeviceIndex::drives, letter, [&](const Volume& volume) {
    return volume.drive_letter == letter;
  });
  if (place.has_value()) return *place;
  return absl::NotFoundError(absl::StrFormat("there is no drive %c:", letter));
}

}  // namespace csi_proxy::machine::simulator

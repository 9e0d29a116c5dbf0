#include "absl/strings/str_cat.h"
#include "server/machine/simulated/hosts.h"
#include "server/machine/simulated/resolver.h"
#include "server/machine/simulated/storage.h"

namespace csi_proxy::machine::simulated {
namespace {

constexpr int kMaxClimbingSteps = 256;

absl::Status MountAt(NodeState& state, const VolumeId& id, const ConfinedPath& target) {
  const std::string path = target.path.ToString();
  const absl::StatusOr<VolumePlace> volume = FindVolume(state, id);
  if (!volume.ok()) return volume.status();
  if (volume->volume->file_system.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("volume ", id.ToString(), " has no file system"));
  }
  absl::StatusOr<Resolved> at = Resolve(state, target);
  if (!at.ok()) return at.status();
  if (!at->found()) return MissingError(path);
  const Tree::Entry& entry = at->at();
  if (entry.mounted == id) return absl::OkStatus();
  if (entry.mounted.has_value()) {
    return absl::AlreadyExistsError(
        absl::StrCat("another volume is mounted at ", path, ": ", entry.mounted->ToString()));
  }
  if (entry.kind != Tree::Kind::kDirectory) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is no directory"));
  }
  if (at->entry == Tree::kRoot || !entry.children.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is not empty"));
  }
  if (at->place->volume == volume->volume) {
    return absl::FailedPreconditionError(
        absl::StrCat("volume ", id.ToString(), " holds ", path, " itself"));
  }
  if (at->place->disk->read_only) {
    return Failure(absl::StrCat("mounting at ", path), kErrorWriteProtect);
  }
  at->tree->SetMounted(at->entry, id);
  return absl::OkStatus();
}

absl::Status UnmountFrom(NodeState& state, const VolumeId& id, const ConfinedPath& target) {
  const std::string path = target.path.ToString();
  absl::StatusOr<Resolved> at = Resolve(state, target);
  if (!at.ok()) return at.status();
  if (!at->found()) return MissingError(path);
  const std::optional<VolumeId>& mounted = at->at().mounted;
  if (!mounted.has_value()) {
    return absl::NotFoundError(absl::StrCat("no volume is mounted at ", path));
  }
  if (*mounted != id) {
    return absl::FailedPreconditionError(
        absl::StrCat("volume ", mounted->ToString(), " is mounted at ", path));
  }
  at->tree->SetMounted(at->entry, std::nullopt);
  return absl::OkStatus();
}

absl::StatusOr<VolumeId> VolumeMountedAt(NodeState& state, const ConfinedPath& path) {
  const absl::StatusOr<Resolved> at = Resolve(state, path, {.follow_last = true});
  if (!at.ok()) return at.status();
  if (!at->found()) return MissingError(path.path.ToString());
  if (at->at().mounted.has_value()) return *at->at().mounted;
  if (at->entry == Tree::kRoot && at->place.has_value()) return at->place->volume->id;
  return absl::NotFoundError(absl::StrCat("no volume is mounted at ", path.path.ToString()));
}

absl::StatusOr<VolumeId> VolumeHolding(NodeState& state, const ConfinedPath& path) {
  const absl::StatusOr<Resolved> at =
      Resolve(state, path, {.follow_last = true, .max_steps = kMaxClimbingSteps});
  if (!at.ok()) return at.status();
  if (!at->found()) return MissingError(path.path.ToString());
  if (at->at().mounted.has_value()) return *at->at().mounted;
  if (at->place.has_value()) return at->place->volume->id;
  return absl::NotFoundError(
      absl::StrCat(path.path.ToString(), " leads to a server, where no volume of the node is"));
}

class SimulatedVolume final : public VolumeHost {
 public:
  explicit SimulatedVolume(Core* core) : core_(*core) {}

  absl::StatusOr<std::vector<VolumeId>> ListVolumes(const CallContext& context,
                                                    uint32_t disk_number,
                                                    uint32_t partition_number) override {
    using Result = absl::StatusOr<std::vector<VolumeId>>;
    return core_.Run(
        context, "volume.ListVolumes", absl::StrCat(disk_number), [&](NodeState& state) -> Result {
          const absl::StatusOr<Disk*> disk = FindDisk(state, disk_number);
          if (!disk.ok()) return disk.status();
          std::vector<VolumeId> ids;
          bool found = partition_number == 0;
          for (const DiskPartition& partition : (*disk)->partitions) {
            if (partition_number != 0 && partition.number != partition_number) continue;
            found = true;
            if (!partition.volume.has_value()) continue;
            // Not before it has arrived, and not while the disk is offline.
            if (FindVolume(state, partition.volume->id).ok()) ids.push_back(partition.volume->id);
          }
          if (!found) {
            return absl::NotFoundError(
                absl::StrCat("disk ", disk_number, " has no partition ", partition_number));
          }
          return ids;
        });
  }

  absl::StatusOr<std::string> GetFileSystem(const CallContext& context,
                                            const VolumeId& volume) override {
    return OnVolume<absl::StatusOr<std::string>>(
        context, "volume.GetFileSystem", volume,
        [](const VolumePlace& place) { return place.volume->file_system; });
  }

  absl::Status Format(const CallContext& context, const VolumeId& volume,
                      const FormatOptions& options) override {
    return OnVolume<absl::Status>(context, "volume.Format", volume, [&](const VolumePlace& place) {
      return simulated::Format(place, options);
    });
  }

  absl::StatusOr<uint64_t> GetSize(const CallContext& context, const VolumeId& volume) override {
    return OnVolume<absl::StatusOr<uint64_t>>(
        context, "volume.GetSize", volume,
        [](const VolumePlace& place) { return place.partition->size_bytes; });
  }

  absl::StatusOr<SupportedSize> GetSupportedSize(const CallContext& context,
                                                 const VolumeId& volume) override {
    return OnVolume<absl::StatusOr<SupportedSize>>(
        context, "volume.GetSupportedSize", volume,
        [](const VolumePlace& place) { return simulated::GetSupportedSize(place); });
  }

  absl::Status Resize(const CallContext& context, const VolumeId& volume,
                      uint64_t size_bytes) override {
    return OnVolume<absl::Status>(context, "volume.Resize", volume, [&](const VolumePlace& place) {
      return simulated::Resize(place, size_bytes);
    });
  }

  absl::StatusOr<VolumeStats> GetStats(const CallContext& context,
                                       const VolumeId& volume) override {
    using Result = absl::StatusOr<VolumeStats>;
    return OnVolume<Result>(
        context, "volume.GetStats", volume, [&](const VolumePlace& place) -> Result {
          if (place.volume->file_system.empty()) {
            return absl::FailedPreconditionError(
                absl::StrCat("volume ", volume.ToString(), " has no file system"));
          }
          return VolumeStats{place.partition->size_bytes, UsedBytes(*place.partition)};
        });
  }

  absl::StatusOr<uint32_t> GetDiskNumber(const CallContext& context,
                                         const VolumeId& volume) override {
    return OnVolume<absl::StatusOr<uint32_t>>(
        context, "volume.GetDiskNumber", volume,
        [](const VolumePlace& place) { return place.disk->number; });
  }

  absl::Status Mount(const CallContext& context, const VolumeId& volume,
                     const ConfinedPath& target) override {
    return core_.Run(context, "volume.Mount", volume.ToString(),
                     [&](NodeState& state) { return MountAt(state, volume, target); });
  }

  absl::Status Unmount(const CallContext& context, const VolumeId& volume,
                       const ConfinedPath& target) override {
    return core_.Run(context, "volume.Unmount", volume.ToString(),
                     [&](NodeState& state) { return UnmountFrom(state, volume, target); });
  }

  absl::StatusOr<VolumeId> GetVolumeAtMountPoint(const CallContext& context,
                                                 const ConfinedPath& path) override {
    return core_.Run(context, "volume.GetVolumeAtMountPoint", path.path.ToString(),
                     [&](NodeState& state) { return VolumeMountedAt(state, path); });
  }

  absl::StatusOr<VolumeId> GetVolumeHolding(const CallContext& context,
                                            const ConfinedPath& path) override {
    return core_.Run(context, "volume.GetVolumeHolding", path.path.ToString(),
                     [&](NodeState& state) { return VolumeHolding(state, path); });
  }

  absl::Status Flush(const CallContext& context, const VolumeId& volume) override {
    return OnVolume<absl::Status>(context, "volume.Flush", volume,
                                  [](const VolumePlace&) { return absl::OkStatus(); });
  }

 private:
  template <typename Result, typename Action>
  Result OnVolume(const CallContext& context, absl::string_view operation, const VolumeId& id,
                  Action action) {
    return core_.Run(context, operation, id.ToString(), [&](NodeState& state) -> Result {
      const absl::StatusOr<VolumePlace> place = FindVolume(state, id);
      if (!place.ok()) return place.status();
      return action(*place);
    });
  }

  Core& core_;
};

}  // namespace

std::unique_ptr<VolumeHost> NewVolumeHost(Core* core) {
  return std::make_unique<SimulatedVolume>(core);
}

}  // namespace csi_proxy::machine::simulated

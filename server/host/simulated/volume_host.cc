#include <utility>

#include "absl/strings/str_cat.h"
#include "server/host/simulated/hosts.h"
#include "server/host/simulated/resolver.h"
#include "server/host/simulated/storage.h"

namespace csi_proxy::host::simulated {
namespace {

// As the interface words it, and as drivers match it.
absl::Status NotMounted(const std::string& path) {
  return absl::NotFoundError(absl::StrCat("no volume is mounted at '", path,
                                          "': cannot find one because it does not exist"));
}

class SimulatedVolumeHost final : public VolumeHost {
 public:
  explicit SimulatedVolumeHost(Core* core) : core_(core) {}

  absl::StatusOr<std::vector<VolumeId>> ListVolumes(const CallContext& context, uint32_t number,
                                                    uint32_t partition_number) override {
    if (absl::Status s = core_->Begin(context, "volume.ListVolumes", absl::StrCat(number));
        !s.ok()) {
      return s;
    }
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<Disk*> disk = FindDisk(core_->state, number);
    if (!disk.ok()) return disk.status();
    std::vector<VolumeId> ids;
    bool partition_found = false;
    for (const DiskPartition& partition : (*disk)->partitions) {
      if (partition_number != 0 && partition.number != partition_number) continue;
      partition_found = true;
      // Only what can be used now is listed.
      if (partition.volume.has_value() && FindVolume(core_->state, partition.volume->id).ok()) {
        ids.push_back(partition.volume->id);
      }
    }
    if (partition_number != 0 && !partition_found) {
      return absl::NotFoundError(
          absl::StrCat("disk ", number, " has no partition ", partition_number));
    }
    return ids;
  }

  absl::StatusOr<std::string> GetFileSystem(const CallContext& context,
                                            const VolumeId& volume) override {
    return With(context, "volume.GetFileSystem", volume,
                [](const VolumePlace& place) -> absl::StatusOr<std::string> {
                  return place.volume->file_system;
                });
  }

  absl::Status Format(const CallContext& context, const VolumeId& volume,
                      const FormatOptions& options) override {
    return With(context, "volume.Format", volume,
                [&](const VolumePlace& place) { return simulated::Format(place, options); });
  }

  absl::StatusOr<uint64_t> GetSize(const CallContext& context, const VolumeId& volume) override {
    return With(context, "volume.GetSize", volume,
                [](const VolumePlace& place) -> absl::StatusOr<uint64_t> {
                  return place.partition->size_bytes;
                });
  }

  absl::StatusOr<SupportedSize> GetSupportedSize(const CallContext& context,
                                                 const VolumeId& volume) override {
    return With(context, "volume.GetSupportedSize", volume,
                [](const VolumePlace& place) -> absl::StatusOr<SupportedSize> {
                  return simulated::GetSupportedSize(place);
                });
  }

  absl::Status Resize(const CallContext& context, const VolumeId& volume,
                      uint64_t size_bytes) override {
    return With(context, "volume.Resize", volume, [size_bytes](const VolumePlace& place) {
      return simulated::Resize(place, size_bytes);
    });
  }

  absl::StatusOr<VolumeStats> GetStats(const CallContext& context,
                                       const VolumeId& volume) override {
    return With(context, "volume.GetStats", volume,
                [](const VolumePlace& place) -> absl::StatusOr<VolumeStats> {
                  if (place.volume->file_system.empty()) {
                    return absl::FailedPreconditionError(absl::StrCat(
                        "volume ", place.volume->id.ToString(), " has no file system"));
                  }
                  return VolumeStats{.total_bytes = place.partition->size_bytes,
                                     .used_bytes = UsedBytes(*place.partition)};
                });
  }

  absl::StatusOr<uint32_t> GetDiskNumber(const CallContext& context,
                                         const VolumeId& volume) override {
    return With(
        context, "volume.GetDiskNumber", volume,
        [](const VolumePlace& place) -> absl::StatusOr<uint32_t> { return place.disk->number; });
  }

  absl::Status Mount(const CallContext& context, const VolumeId& volume,
                     const ConfinedPath& target) override {
    return With(context, "volume.Mount", volume,
                [&](const VolumePlace& place)
                    ABSL_NO_THREAD_SAFETY_ANALYSIS { return MountAt(place, target); });
  }

  absl::Status Unmount(const CallContext& context, const VolumeId& volume,
                       const ConfinedPath& target) override {
    if (absl::Status s = core_->Begin(context, "volume.Unmount", volume.ToString()); !s.ok()) {
      return s;
    }
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<Resolved> at = Resolve(core_->state, target);
    if (!at.ok()) return at.status();
    const std::string path = target.path.ToString();
    if (!at->found() || !at->at().mounted.has_value()) return NotMounted(path);
    if (at->at().mounted != volume) {
      return absl::FailedPreconditionError(
          absl::StrCat("at ", path, " another volume is mounted: ", at->at().mounted->ToString()));
    }
    at->tree->SetMounted(at->entry, std::nullopt);
    return absl::OkStatus();
  }

  absl::StatusOr<VolumeId> GetVolumeAtMountPoint(const CallContext& context,
                                                 const ConfinedPath& path) override {
    const std::string text = path.path.ToString();
    if (absl::Status s = core_->Begin(context, "volume.GetVolumeAtMountPoint", text); !s.ok()) {
      return s;
    }
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<Resolved> at = Resolve(core_->state, path, {.follow_last = true});
    if (!at.ok()) return at.status();
    if (!at->found()) return MissingError(text);
    if (at->at().mounted.has_value()) return *at->at().mounted;
    if (at->entry == Tree::kRoot && at->place.has_value()) return at->place->volume->id;
    return NotMounted(text);
  }

  absl::StatusOr<VolumeId> GetVolumeHolding(const CallContext& context,
                                            const ConfinedPath& path) override {
    const std::string text = path.path.ToString();
    if (absl::Status s = core_->Begin(context, "volume.GetVolumeHolding", text); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<Resolved> at =
        Resolve(core_->state, path, {.follow_last = true, .max_steps = 256});
    if (!at.ok()) return at.status();
    if (!at->found()) return MissingError(text);
    if (at->at().mounted.has_value()) return *at->at().mounted;
    if (!at->place.has_value()) {
      return absl::NotFoundError(absl::StrCat("'", text, "' lies on a server, not on a volume"));
    }
    return at->place->volume->id;
  }

  absl::Status Flush(const CallContext& context, const VolumeId& volume) override {
    return With(context, "volume.Flush", volume,
                [](const VolumePlace&) { return absl::OkStatus(); });
  }

 private:
  // Runs `act(const VolumePlace&)` on a volume that is there.
  template <typename Act>
  auto With(const CallContext& context, absl::string_view operation, const VolumeId& volume,
            Act act) -> decltype(act(std::declval<const VolumePlace&>())) {
    if (absl::Status s = core_->Begin(context, operation, volume.ToString()); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<VolumePlace> place = FindVolume(core_->state, volume);
    if (!place.ok()) return place.status();
    return act(*place);
  }

  absl::Status MountAt(const VolumePlace& place, const ConfinedPath& target)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(core_->mutex) {
    const std::string path = target.path.ToString();
    const absl::StatusOr<Resolved> at = Resolve(core_->state, target);
    if (!at.ok()) return at.status();
    if (!at->found()) return MissingError(path);
    const Tree::Entry& entry = at->at();
    if (entry.mounted == place.volume->id) return absl::OkStatus();
    if (entry.mounted.has_value()) {
      return absl::AlreadyExistsError(
          absl::StrCat("at ", path, " another volume is mounted: ", entry.mounted->ToString()));
    }
    if (entry.kind != Tree::Kind::kDirectory || at->entry == Tree::kRoot) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " is no directory that can be mounted at"));
    }
    if (!entry.children.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(path, " is not empty"));
    }
    if (place.volume->file_system.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("volume ", place.volume->id.ToString(), " has no file system"));
    }
    at->tree->SetMounted(at->entry, place.volume->id);
    return absl::OkStatus();
  }

  Core* const core_;
};

}  // namespace

std::unique_ptr<VolumeHost> NewVolumeHost(Core* core) {
  return std::make_unique<SimulatedVolumeHost>(core);
}

}  // namespace csi_proxy::host::simulated

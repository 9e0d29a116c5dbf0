#include <utility>

#include "absl/strings/str_cat.h"
#include "server/host/simulated/hosts.h"
#include "server/host/simulated/storage.h"

namespace csi_proxy::host::simulated {
namespace {

class SimulatedDiskHost final : public DiskHost {
 public:
  explicit SimulatedDiskHost(Core* core) : core_(core) {}

  absl::StatusOr<std::vector<DiskLocationText>> ListDiskLocations(
      const CallContext& context) override {
    if (absl::Status s = core_->Begin(context, "disk.ListDiskLocations", ""); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    std::vector<DiskLocationText> locations;
    for (const Disk* disk : VisibleDisks(core_->state)) {
      locations.push_back({disk->number, disk->location});
    }
    return locations;
  }

  absl::StatusOr<std::vector<DiskIdentity>> ListDiskIdentities(
      const CallContext& context) override {
    if (absl::Status s = core_->Begin(context, "disk.ListDiskIdentities", ""); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    std::vector<DiskIdentity> identities;
    for (const Disk* disk : VisibleDisks(core_->state)) {
      DiskIdentity identity;
      identity.disk_number = disk->number;
      identity.serial_number = disk->serial_number;
      if (disk->page83_error.has_value()) {
        identity.status =
            Failure(absl::StrCat("reading page 83 of disk ", disk->number), *disk->page83_error);
      } else {
        identity.page83 = disk->page83;
      }
      identities.push_back(std::move(identity));
    }
    return identities;
  }

  absl::Status Rescan(const CallContext& context) override {
    if (absl::Status s = core_->Begin(context, "disk.Rescan", ""); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    simulated::Rescan(core_->state);
    return absl::OkStatus();
  }

  absl::StatusOr<DiskLayout> GetLayout(const CallContext& context, uint32_t number) override {
    return With(context, "disk.GetLayout", number, [](Disk& disk) -> absl::StatusOr<DiskLayout> {
      DiskLayout layout;
      layout.is_online = disk.online;
      layout.style = disk.style;
      for (const DiskPartition& partition : disk.partitions) {
        layout.partitions.push_back({.partition_number = partition.number,
                                     .is_basic = partition.type == PartitionType::kBasic});
      }
      return layout;
    });
  }

  absl::Status InitializeGpt(const CallContext& context, uint32_t number) override {
    return With(context, "disk.InitializeGpt", number,
                [](Disk& disk) { return simulated::InitializeGpt(disk); });
  }

  absl::StatusOr<uint32_t> CreateBasicPartition(const CallContext& context,
                                                uint32_t number) override {
    return With(context, "disk.CreateBasicPartition", number,
                [this](Disk& disk) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                  return simulated::CreateBasicPartition(core_->state, disk);
                });
  }

  absl::StatusOr<uint64_t> GetSize(const CallContext& context, uint32_t number) override {
    return With(context, "disk.GetSize", number,
                [](Disk& disk) -> absl::StatusOr<uint64_t> { return disk.size_bytes; });
  }

  absl::StatusOr<bool> IsOnline(const CallContext& context, uint32_t number) override {
    return With(context, "disk.IsOnline", number,
                [](Disk& disk) -> absl::StatusOr<bool> { return disk.online; });
  }

  absl::Status SetOnline(const CallContext& context, uint32_t number, bool online) override {
    return With(context, "disk.SetOnline", number, [online](Disk& disk) {
      disk.online = online;
      if (online) disk.read_only = false;
      return absl::OkStatus();
    });
  }

 private:
  // Runs `act(Disk&)` on a disk that is there.
  template <typename Act>
  auto With(const CallContext& context, absl::string_view operation, uint32_t number, Act act)
      -> decltype(act(std::declval<Disk&>())) {
    if (absl::Status s = core_->Begin(context, operation, absl::StrCat(number)); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<Disk*> disk = FindDisk(core_->state, number);
    if (!disk.ok()) return disk.status();
    return act(**disk);
  }

  Core* const core_;
};

}  // namespace

std::unique_ptr<DiskHost> NewDiskHost(Core* core) {
  return std::make_unique<SimulatedDiskHost>(core);
}

}  // namespace csi_proxy::host::simulated

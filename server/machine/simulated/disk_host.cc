#include "absl/strings/str_cat.h"
#include "server/machine/simulated/hosts.h"
#include "server/machine/simulated/storage.h"

namespace csi_proxy::machine::simulated {
namespace {

class SimulatedDisk final : public DiskHost {
 public:
  explicit SimulatedDisk(Core* core) : core_(*core) {}

  absl::StatusOr<std::vector<DiskLocationText>> ListDiskLocations(
      const CallContext& context) override {
    using Result = absl::StatusOr<std::vector<DiskLocationText>>;
    return core_.Run(context, "disk.ListDiskLocations", "", [](NodeState& state) -> Result {
      std::vector<DiskLocationText> locations;
      for (const Disk* disk : VisibleDisks(state)) {
        locations.push_back({disk->number, disk->location});
      }
      return locations;
    });
  }

  absl::StatusOr<std::vector<DiskIdentity>> ListDiskIdentities(
      const CallContext& context) override {
    using Result = absl::StatusOr<std::vector<DiskIdentity>>;
    return core_.Run(context, "disk.ListDiskIdentities", "", [](NodeState& state) -> Result {
      std::vector<DiskIdentity> identities;
      for (const Disk* disk : VisibleDisks(state)) {
        DiskIdentity& identity = identities.emplace_back();
        identity.disk_number = disk->number;
        identity.serial_number = disk->serial_number;
        if (disk->page83_error.has_value()) {
          identity.status =
              Failure(absl::StrCat("reading page 83 of disk ", disk->number), *disk->page83_error);
        } else {
          identity.page83 = disk->page83;
        }
      }
      return identities;
    });
  }

  absl::Status Rescan(const CallContext& context) override {
    return core_.Run(context, "disk.Rescan", "", [](NodeState& state) {
      simulated::Rescan(state);
      return absl::OkStatus();
    });
  }

  absl::StatusOr<DiskLayout> GetLayout(const CallContext& context, uint32_t disk_number) override {
    return OnDisk<absl::StatusOr<DiskLayout>>(
        context, "disk.GetLayout", disk_number,
        [](NodeState&, Disk& disk) -> absl::StatusOr<DiskLayout> {
          DiskLayout layout;
          layout.is_online = disk.online;
          layout.style = disk.style;
          for (const DiskPartition& partition : disk.partitions) {
            layout.partitions.push_back(
                {partition.number, partition.type == PartitionType::kBasic});
          }
          return layout;
        });
  }

  absl::Status InitializeGpt(const CallContext& context, uint32_t disk_number) override {
    return OnDisk<absl::Status>(
        context, "disk.InitializeGpt", disk_number,
        [](NodeState&, Disk& disk) { return simulated::InitializeGpt(disk); });
  }

  absl::StatusOr<uint32_t> CreateBasicPartition(const CallContext& context,
                                                uint32_t disk_number) override {
    return OnDisk<absl::StatusOr<uint32_t>>(
        context, "disk.CreateBasicPartition", disk_number,
        [](NodeState& state, Disk& disk) { return simulated::CreateBasicPartition(state, disk); });
  }

  absl::StatusOr<uint64_t> GetSize(const CallContext& context, uint32_t disk_number) override {
    return OnDisk<absl::StatusOr<uint64_t>>(context, "disk.GetSize", disk_number,
                                            [](NodeState&, Disk& disk) { return disk.size_bytes; });
  }

  absl::StatusOr<bool> IsOnline(const CallContext& context, uint32_t disk_number) override {
    return OnDisk<absl::StatusOr<bool>>(context, "disk.IsOnline", disk_number,
                                        [](NodeState&, Disk& disk) { return disk.online; });
  }

  absl::Status SetOnline(const CallContext& context, uint32_t disk_number, bool online) override {
    return OnDisk<absl::Status>(context, "disk.SetOnline", disk_number,
                                [online](NodeState&, Disk& disk) {
                                  if (!online) return TakeOffline(disk);
                                  disk.online = true;
                                  disk.read_only = false;
                                  return absl::OkStatus();
                                });
  }

 private:
  template <typename Result, typename Action>
  Result OnDisk(const CallContext& context, absl::string_view operation, uint32_t disk_number,
                Action action) {
    return core_.Run(context, operation, absl::StrCat(disk_number),
                     [&](NodeState& state) -> Result {
                       const absl::StatusOr<Disk*> disk = FindDisk(state, disk_number);
                       if (!disk.ok()) return disk.status();
                       return action(state, **disk);
                     });
  }

  Core& core_;
};

}  // namespace

std::unique_ptr<DiskHost> NewDiskHost(Core* core) { return std::make_unique<SimulatedDisk>(core); }

}  // namespace csi_proxy::machine::simulated

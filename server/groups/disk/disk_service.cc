#include "server/groups/disk/disk_service.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/groups/disk/location.h"
#include "server/groups/paths.h"

namespace csi_proxy::disk {
namespace {

// How long PartitionDisk waits for the new volume, and how often it looks.
constexpr absl::Duration kVolumeArrival = absl::Seconds(60);
constexpr absl::Duration kAutomount = absl::Milliseconds(500);
constexpr absl::Duration kFirstPoll = absl::Milliseconds(10);
constexpr absl::Duration kLastPoll = absl::Milliseconds(250);

constexpr size_t kMaxName = 1024;

class DiskService final : public Service {
 public:
  explicit DiskService(const groups::Deps& deps) : deps_(deps) {}

  absl::StatusOr<ListDiskLocationsResponse> ListDiskLocations(
      const CallContext& context, const ListDiskLocationsRequest&) override {
    const auto disks = host().ListDiskLocations(context);
    if (!disks.ok()) return disks.status();
    ListDiskLocationsResponse response;
    for (const host::DiskLocationText& disk : *disks) {
      if (auto location = ParseLocation(disk.location); location.has_value()) {
        response.disk_locations.emplace(disk.disk_number, *std::move(location));
      }
    }
    return response;
  }

  absl::StatusOr<PartitionDiskResponse> PartitionDisk(
      const CallContext& context, const PartitionDiskRequest& request) override {
    const uint32_t number = request.disk_number;
    const auto lock = Lock(context, number);
    if (!lock.ok()) return lock.status();
    const auto layout = host().GetLayout(context, number);
    if (!layout.ok()) return layout.status();
    if (!layout->is_online) {
      return absl::FailedPreconditionError(
          absl::StrCat("disk_number: disk ", number, " is offline; bring it online first"));
    }
    if (layout->style == host::PartitionStyle::kRaw) {
      if (absl::Status s = context.Check(); !s.ok()) return s;
      if (absl::Status s = host().InitializeGpt(context, number); !s.ok()) return s;
    }
    const bool has_basic = std::any_of(layout->partitions.begin(), layout->partitions.end(),
                                       [](const host::Partition& p) { return p.is_basic; });
    if (!has_basic) {
      if (absl::Status s = context.Check(); !s.ok()) return s;
      const auto created = host().CreateBasicPartition(context, number);
      if (!created.ok()) return created.status();
    }
    if (absl::Status s = AwaitVolume(context, number); !s.ok()) return s;
    return PartitionDiskResponse{};
  }

  absl::StatusOr<RescanResponse> Rescan(const CallContext& context, const RescanRequest&) override {
    if (absl::Status s = host().Rescan(context); !s.ok()) return s;
    return RescanResponse{};
  }

  absl::StatusOr<GetDiskNumberByNameResponse> GetDiskNumberByName(
      const CallContext& context, const GetDiskNumberByNameRequest& request) override {
    if (absl::Status s = groups::CheckText("disk_name", request.disk_name, kMaxName); !s.ok()) {
      return s;
    }
    const auto disks = host().ListDiskIdentities(context);
    if (!disks.ok()) return disks.status();
    for (const host::DiskIdentity& disk : *disks) {
      if (disk.page83 == request.disk_name) {
        return GetDiskNumberByNameResponse{.disk_number = disk.disk_number};
      }
    }
    return absl::NotFoundError("disk_name: no disk has that page 83 identifier");
  }

  absl::StatusOr<ListDiskIDsResponse> ListDiskIDs(const CallContext& context,
                                                  const ListDiskIDsRequest&) override {
    auto disks = host().ListDiskIdentities(context);
    if (!disks.ok()) return disks.status();
    ListDiskIDsResponse response;
    for (host::DiskIdentity& disk : *disks) {
      response.disk_ids.emplace(disk.disk_number,
                                DiskIDs{.page83 = std::move(disk.page83),
                                        .serial_number = std::move(disk.serial_number)});
    }
    return response;
  }

  absl::StatusOr<GetDiskStatsResponse> GetDiskStats(const CallContext& context,
                                                    const GetDiskStatsRequest& request) override {
    const auto size = host().GetSize(context, request.disk_number);
    if (!size.ok()) return size.status();
    if (*size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return absl::InternalError(absl::StrCat("disk ", request.disk_number, " reports a size of ",
                                              *size, " bytes, which cannot be"));
    }
    return GetDiskStatsResponse{.total_bytes = static_cast<int64_t>(*size)};
  }

  absl::StatusOr<SetDiskStateResponse> SetDiskState(const CallContext& context,
                                                    const SetDiskStateRequest& request) override {
    const auto lock = Lock(context, request.disk_number);
    if (!lock.ok()) return lock.status();
    if (absl::Status s = host().SetOnline(context, request.disk_number, request.is_online);
        !s.ok()) {
      return s;
    }
    return SetDiskStateResponse{};
  }

  absl::StatusOr<GetDiskStateResponse> GetDiskState(const CallContext& context,
                                                    const GetDiskStateRequest& request) override {
    const auto online = host().IsOnline(context, request.disk_number);
    if (!online.ok()) return online.status();
    return GetDiskStateResponse{.is_online = *online};
  }

 private:
  host::DiskHost& host() { return deps_.host->disk(); }

  absl::StatusOr<ResourceLocks::Lock> Lock(const CallContext& context, uint32_t number) {
    return deps_.locks->Acquire(context, absl::StrCat("disk/", number));
  }

  // Drivers take the first volume of the disk right after PartitionDisk, without a check.
  absl::Status AwaitVolume(const CallContext& context, uint32_t number) {
    const CallContext waiting = context.WithTimeout(kVolumeArrival);
    const absl::Time mount_at = absl::Now() + kAutomount;
    bool asked = false;
    absl::Status onlined;
    for (absl::Duration poll = kFirstPoll;; poll = std::min(2 * poll, kLastPoll)) {
      const auto volumes = deps_.host->volume().ListVolumes(waiting, number, 0);
      if (!volumes.ok()) return volumes.status();
      if (!volumes->empty()) return absl::OkStatus();
      // Where automount is disabled, the volume does not come by itself. Not asked for at once,
      // since elsewhere it does.
      if (!asked && absl::Now() >= mount_at) {
        asked = true;
        onlined = host().BringPartitionsOnline(waiting, number);
      }
      if (absl::Status s = waiting.SleepFor(poll); !s.ok()) {
        return absl::Status(
            s.code(), absl::StrCat("disk ", number,
                                   " is partitioned, but its volume has not arrived: ", s.message(),
                                   onlined.ok() ? "" : "; ", onlined.message()));
      }
    }
  }

  const groups::Deps deps_;
};

}  // namespace

std::unique_ptr<Service> NewDiskService(const groups::Deps& deps) {
  return std::make_unique<DiskService>(deps);
}

}  // namespace csi_proxy::disk

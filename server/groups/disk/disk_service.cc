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

// How long a call waits for the first volume of a disk, and for the others, and how often it looks.
constexpr absl::Duration kVolumeArrival = absl::Seconds(60);
constexpr absl::Duration kFurtherVolumes = absl::Seconds(10);
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
    auto layout = host().GetLayout(context, number);
    if (!layout.ok()) return layout.status();
    const auto has_basic = [&] {
      return std::any_of(layout->partitions.begin(), layout->partitions.end(),
                         [](const host::Partition& p) { return p.is_basic; });
    };
    if (!has_basic() && (!layout->is_online || layout->is_read_only)) {
      // Windows leaves new disks of a SAN offline and read-only. The layout is read again because
      // it is certain only while the disk is online.
      if (absl::Status s = BringOnline(context, number); !s.ok()) return s;
      layout = host().GetLayout(context, number);
      if (!layout.ok()) return layout.status();
    }
    // It is partitioned already. Drivers bring it online next, and then list its volumes.
    if (!layout->is_online && has_basic()) return PartitionDiskResponse{};
    const host::KnownDisk disk(number, *layout);
    if (layout->style == host::PartitionStyle::kRaw) {
      if (absl::Status s = host().InitializeGpt(context, disk); !s.ok()) return s;
    }
    if (!has_basic()) {
      const auto created = host().CreateBasicPartition(context, disk);
      if (!created.ok()) return created.status();
    }
    if (absl::Status s = AwaitVolumes(context, number, 1, "partitioned"); !s.ok()) return s;
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
    if (request.is_online) {
      if (absl::Status s = BringOnline(context, request.disk_number); !s.ok()) return s;
      return SetDiskStateResponse{};
    }
    const auto changed = host().SetOnline(context, request.disk_number, false);
    if (!changed.ok()) return changed.status();
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

  // Brings a disk online, writable, with the volumes that its partitions promise.
  absl::Status BringOnline(const CallContext& context, uint32_t number) {
    const auto change = host().SetOnline(context, number, true);
    if (!change.ok()) return change.status();
    const auto promised = host().CountPromisedVolumes(context, number);
    if (!promised.ok()) return promised.status();
    // If the disk was online before, a volume that it still lacks will most likely not come.
    const size_t wanted = change->changed ? *promised : std::min<size_t>(*promised, 1);
    if (absl::Status s = AwaitVolumes(context, number, wanted, "online"); !s.ok()) return s;
    if (!change->was_online_read_only) return absl::OkStatus();
    return deps_.host->volume().MakeWritable(context, number);
  }

  // Waits until so many volumes of a disk can be listed: drivers take the first one right after
  // PartitionDisk or SetDiskState, without a check. In the end one is enough.
  absl::Status AwaitVolumes(const CallContext& context, uint32_t number, size_t wanted,
                            absl::string_view state) {
    if (wanted == 0) return absl::OkStatus();
    const CallContext waiting = context.WithTimeout(kVolumeArrival);
    const absl::Time mount_at = absl::Now() + kAutomount;
    const absl::Time one_will_do_at = absl::Now() + kFurtherVolumes;
    bool asked = false;
    absl::Status onlined;
    for (absl::Duration poll = kFirstPoll;; poll = std::min(2 * poll, kLastPoll)) {
      const auto volumes = deps_.host->volume().ListVolumes(waiting, number, 0);
      if (!volumes.ok()) return volumes.status();
      if (volumes->size() >= wanted) return absl::OkStatus();
      if (!volumes->empty() && absl::Now() >= one_will_do_at) return absl::OkStatus();
      // Where automount is disabled, a new volume does not arrive by itself. Elsewhere it does, so
      // this waits a moment first.
      if (!asked && absl::Now() >= mount_at) {
        asked = true;
        onlined = host().BringPartitionsOnline(waiting, number);
      }
      if (absl::Status s = waiting.SleepFor(poll); !s.ok()) {
        return absl::Status(s.code(),
                            absl::StrCat("disk ", number, " is ", state,
                                         ", but its volume has not arrived: ", s.message(),
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

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status_macros.h"
#include "server/groups/disk/bring_online.h"
#include "server/groups/fields.h"
#include "server/groups/format.h"
#include "server/groups/locks.h"
#include "server/groups/node_services.h"
#include "server/host/windows_use.h"
#include "server/names/win32_error.h"

namespace csi_proxy::disk {
namespace {

constexpr size_t kMaxName = 1024;

class DiskService final : public Service {
 public:
  explicit DiskService(const groups::HandlerDeps& deps) : deps_(deps) {}

  absl::StatusOr<ListDiskLocationsResponse> ListDiskLocations(
      const CallContext& context, const ListDiskLocationsRequest&) override {
    ABSL_ASSIGN_OR_RETURN(const auto disks, host().ListDisks(context, host::AskDisks::kLocation));
    ListDiskLocationsResponse response;
    for (const host::DiskDescription& disk : disks) {
      const DiskLocation location = {disk.adapter, disk.bus, disk.target, disk.lun_id};
      if (location != DiskLocation()) response.disk_locations.emplace(disk.number, location);
    }
    return response;
  }

  absl::StatusOr<PartitionDiskResponse> PartitionDisk(
      const CallContext& context, const PartitionDiskRequest& request) override {
    const uint32_t number = request.disk_number;
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, number));
    ABSL_RETURN_IF_ERROR(host().AwaitChanges(context, number));
    auto layout = host().GetLayout(context, number);
    if (!layout.ok()) return layout.status();
    host::NodeVolumes seen;
    // Counts all partitions except Microsoft's reserved one, as the Go release does, including
    // partitions of dynamic disks and of other systems.
    const auto has_partition = [&] {
      return std::any_of(
          layout->partitions.begin(), layout->partitions.end(),
          [](const host::Partition& p) { return p.kind != host::PartitionKind::kReserved; });
    };
    const auto is_raw = [&] { return layout->partition_style == host::PartitionStyle::kRaw; };
    // Accepts even a disk of Windows if it is partitioned, because the call does not change it.
    if (is_raw() || !has_partition()) {
      ABSL_RETURN_IF_ERROR(Prefixed("disk_number", host::CheckNotWindows(*layout)));
    }
    const host::DiskDescription before = *layout;
    if (!before.is_online || (before.is_read_only && !has_partition())) {
      // Windows keeps disks of a SAN, and copies of disks, offline and read-only. Brings a
      // partitioned disk online too, because azuredisk lists its volumes next. Reads the layout
      // again, because it is reliable only while the disk is online.
      ABSL_RETURN_IF_ERROR(CheckMayComeOnline(*layout));
      ABSL_RETURN_IF_ERROR(BringOnline(*deps_.host, context, number, &*layout, &seen).status());
      layout = host().GetLayout(context, number);
      if (!layout.ok()) return layout.status();
      ABSL_RETURN_IF_ERROR(host::CheckSame(before, *layout));
    }
    if (is_raw()) {
      if (deps_.keep_foreign_data) {
        const absl::Status blank =
            groups::AboutField("disk_number", groups::CheckBlank(deps_, context, *layout));
        if (!blank.ok()) return Restore(deps_, context, before, blank);
      }
      ABSL_RETURN_IF_ERROR(host().InitializeGpt(context, *layout));
    }
    size_t wanted = 1;
    if (has_partition()) {
      // Does not wait for volumes of another system's partitions, because they never arrive.
      ABSL_ASSIGN_OR_RETURN(const auto promised, host().CountPromisedVolumes(context, number));
      wanted = std::min<size_t>(promised, 1);
    } else {
      ABSL_RETURN_IF_ERROR(host().CreateBasicPartition(context, *layout));
    }
    ABSL_ASSIGN_OR_RETURN(const auto volumes,
                          AwaitVolumes(*deps_.host, context, number, wanted, "partitioned", &seen));
    if (volumes.empty()) {
      return Restore(deps_, context, before,
                     absl::FailedPreconditionError(absl::StrCat(
                         "disk_number: disk ", number,
                         " has partitions of another operating system, without a volume that "
                         "Windows can mount")));
    }
    return PartitionDiskResponse{};
  }

  absl::StatusOr<RescanResponse> Rescan(const CallContext& context, const RescanRequest&) override {
    ABSL_RETURN_IF_ERROR(host().Rescan(context));
    return RescanResponse{};
  }

  absl::StatusOr<GetDiskNumberByNameResponse> GetDiskNumberByName(
      const CallContext& context, const GetDiskNumberByNameRequest& request) override {
    ABSL_RETURN_IF_ERROR(groups::CheckText("disk_name", request.disk_name, kMaxName));
    ABSL_ASSIGN_OR_RETURN(const auto disks, host().ListDisks(context, host::AskDisks::kIds));
    std::vector<uint32_t> numbers;
    for (const host::DiskDescription& disk : disks) {
      if (disk.page83 == request.disk_name) numbers.push_back(disk.number);
    }
    if (numbers.empty()) {
      return absl::NotFoundError("disk_name: no disk has that page 83 identifier");
    }
    if (numbers.size() > 1) {
      return absl::FailedPreconditionError(absl::StrCat(
          "disk_name: several disks have that page 83 identifier: ", absl::StrJoin(numbers, ", ")));
    }
    return GetDiskNumberByNameResponse{.disk_number = numbers.front()};
  }

  absl::StatusOr<ListDiskIDsResponse> ListDiskIDs(const CallContext& context,
                                                  const ListDiskIDsRequest&) override {
    ABSL_ASSIGN_OR_RETURN(auto disks, host().ListDisks(context, host::AskDisks::kIds));
    ListDiskIDsResponse response;
    for (host::DiskDescription& disk : disks) {
      response.disk_ids.emplace(disk.number,
                                DiskIDs{.page83 = std::move(disk.page83),
                                        .serial_number = std::move(disk.padded_serial_number)});
    }
    return response;
  }

  absl::StatusOr<GetDiskStatsResponse> GetDiskStats(const CallContext& context,
                                                    const GetDiskStatsRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto size, host().GetSize(context, request.disk_number));
    if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return absl::InternalError(absl::StrCat("disk ", request.disk_number, " reports a size of ",
                                              size, " bytes, which is impossible"));
    }
    return GetDiskStatsResponse{.total_bytes = static_cast<int64_t>(size)};
  }

  absl::StatusOr<SetDiskStateResponse> SetDiskState(const CallContext& context,
                                                    const SetDiskStateRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, request.disk_number));
    if (request.is_online) {
      ABSL_RETURN_IF_ERROR(BringOnline(*deps_.host, context, request.disk_number).status());
      return SetDiskStateResponse{};
    }
    ABSL_RETURN_IF_ERROR(host().SetOnline(context, request.disk_number, false).status());
    return SetDiskStateResponse{};
  }

  absl::StatusOr<GetDiskStateResponse> GetDiskState(const CallContext& context,
                                                    const GetDiskStateRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto online, host().IsOnline(context, request.disk_number));
    return GetDiskStateResponse{.is_online = online};
  }

 private:
  // Returns FAILED_PRECONDITION if Windows keeps the disk offline for another reason than that the
  // disk is new to the node or a copy of another disk. A second path to a disk, for example, must
  // stay offline, because two file systems would write to the disk.
  static absl::Status CheckMayComeOnline(const host::DiskDescription& disk) {
    const std::string& reason = disk.offline_reason;
    if (disk.is_online || reason.empty() || reason == "Policy" || reason == "Collision") {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "disk_number: Windows keeps disk ", disk.number, " offline (", reason,
        "); `Get-Disk` on the node shows it, and SetDiskState brings it online nevertheless"));
  }

  host::DiskHost& host() { return deps_.host->disk(); }

  absl::StatusOr<ResourceLocks::Lock> Lock(const CallContext& context, uint32_t number) {
    return groups::LockDisk(*deps_.locks, context, number);
  }

  const groups::HandlerDeps deps_;
};

}  // namespace

std::unique_ptr<Service> NewDiskService(const groups::HandlerDeps& deps) {
  return std::make_unique<DiskService>(deps);
}

}  // namespace csi_proxy::disk

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/groups/fields.h"
#include "server/groups/format.h"
#include "server/groups/locks.h"
#include "server/groups/node_services.h"
#include "server/groups/storage/calls.h"
#include "server/host/windows_use.h"
#include "server/names/volume_id.h"

namespace csi_proxy::storage {
namespace {

bool IsData(const host::Partition& partition) {
  return partition.kind == host::PartitionKind::kData;
}

static_assert(static_cast<int>(PartitionStyle::kMbr) ==
              static_cast<int>(host::PartitionStyle::kMbr));
static_assert(static_cast<int>(PartitionStyle::kGpt) ==
              static_cast<int>(host::PartitionStyle::kGpt));

DiskInfo ToHub(host::DiskDescription disk) {
  DiskInfo info;
  info.number = disk.disk_number;
  info.bus_type = std::move(disk.bus_type);
  info.path = std::move(disk.path);
  info.serial_number = std::move(disk.serial_number);
  info.page83 = std::move(disk.page83);
  info.unique_id = std::move(disk.unique_id);
  if (auto location = groups::ParseLocation(disk.location); location.has_value()) {
    info.adapter = std::move(location->adapter);
    info.bus = std::move(location->bus);
    info.target = std::move(location->target);
    info.lun_id = std::move(location->lun_id);
  }
  info.nvme_namespace_id = disk.nvme_namespace_id;
  info.eui = std::move(disk.eui);
  // An impossible size must hide neither its disk nor the others.
  if (disk.size_bytes <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    info.size_bytes = static_cast<int64_t>(disk.size_bytes);
  }
  info.partition_style = static_cast<PartitionStyle>(disk.style);
  info.is_boot = disk.is_boot;
  info.is_system = disk.is_system;
  info.is_online = disk.is_online;
  info.offline_reason = std::move(disk.offline_reason);
  info.is_read_only = disk.is_read_only;
  info.content = std::move(disk.content);
  return info;
}

}  // namespace

absl::StatusOr<ListDisksResponse> StorageService::ListDisks(const CallContext& context,
                                                            const ListDisksRequest& request) {
  ABSL_ASSIGN_OR_RETURN(auto disks, deps_.host->disk().ListDisks(context));
  if (request.read_content) {
    deps_.host->disk().ReadContents(context.Leaving(kTimeToAnswer, absl::Seconds(1)), &disks);
  }
  ListDisksResponse response;
  for (host::DiskDescription& disk : disks) response.disks.push_back(ToHub(std::move(disk)));
  return response;
}

absl::StatusOr<SetDiskReadOnlyResponse> StorageService::SetDiskReadOnly(
    const CallContext& context, const SetDiskReadOnlyRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const auto lock,
                        groups::LockDisk(*deps_.locks, context, request.disk_number));
  if (request.read_only) {
    ABSL_RETURN_IF_ERROR(groups::AboutField(
        "disk_number",
        host::CheckNotMounted(*deps_.host, context, deps_.roots.get(), request.disk_number)));
  }
  const absl::Status set =
      deps_.host->disk().SetReadOnly(context, request.disk_number, request.read_only);
  if (!set.ok()) return set;
  if (!request.read_only) {
    // A file system that was mounted on a read-only disk stays read-only until it is remounted.
    const absl::Status writable = deps_.host->volume().MakeWritable(context, request.disk_number);
    if (!writable.ok()) return writable;
  }
  return SetDiskReadOnlyResponse{};
}

absl::StatusOr<FormatVolumeResponse> StorageService::FormatVolume(
    const CallContext& context, const FormatVolumeRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const auto volume, VolumeId::Parse(request.volume_id));
  ABSL_ASSIGN_OR_RETURN(
      const auto options,
      groups::ReadFormat(request.file_system, request.allocation_unit_bytes, request.label));
  const auto check = [&]() -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(const auto number, deps_.host->volume().GetDiskNumber(context, volume));
    ABSL_ASSIGN_OR_RETURN(const auto disk, deps_.host->disk().Describe(context, number));
    return groups::AboutField("volume_id",
                              host::CheckUnused(*deps_.host, context, deps_.roots.get(), disk));
  };
  ABSL_RETURN_IF_ERROR(groups::LockAndFormat(
      deps_, context, volume, options,
      request.overwrite ? groups::Erase::kUnmounted : groups::Erase::kNothing, check));
  return FormatVolumeResponse{};
}

const host::Partition* DataPartition(const host::DiskLayout& layout) {
  const auto found = std::find_if(layout.partitions.begin(), layout.partitions.end(), IsData);
  return found == layout.partitions.end() ? nullptr : &*found;
}

absl::Status CheckPartitions(uint32_t number, const host::DiskLayout& layout) {
  for (const host::Partition& partition : layout.partitions) {
    if (partition.kind == host::PartitionKind::kDynamic) {
      return absl::FailedPreconditionError(
          absl::StrCat("disk: disk ", number,
                       " is a dynamic disk, whose volumes WMI does not manage: use a basic disk"));
    }
    if (partition.kind != host::PartitionKind::kOther) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("disk: partition ", partition.partition_number, " of disk ", number,
                     " is not of the basic data type: another system uses the disk; ask the owner "
                     "of the data"));
  }
  if (std::count_if(layout.partitions.begin(), layout.partitions.end(), IsData) > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("disk: disk ", number, " has several data partitions"));
  }
  return absl::OkStatus();
}

std::unique_ptr<Service> NewStorageService(const groups::Deps& deps) {
  return std::make_unique<StorageService>(deps);
}

}  // namespace csi_proxy::storage

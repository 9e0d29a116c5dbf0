#include <algorithm>
#include <memory>
#include <optional>
#include <string>
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

}  // namespace

absl::StatusOr<ListDisksResponse> StorageService::ListDisks(const CallContext& context,
                                                            const ListDisksRequest& request) {
  ABSL_ASSIGN_OR_RETURN(auto disks, deps_.host->disk().ListDisks(context));
  if (request.read_content) {
    deps_.host->disk().ReadContents(context.Leaving(kTimeToAnswer, absl::Seconds(1)), &disks);
  }
  return ListDisksResponse{.disks = {disks.begin(), disks.end()}};
}

absl::StatusOr<SetDiskReadOnlyResponse> StorageService::SetDiskReadOnly(
    const CallContext& context, const SetDiskReadOnlyRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const auto lock,
                        groups::LockDisk(*deps_.locks, context, request.disk_number));
  const uint32_t number = request.disk_number;
  host::NodeVolumes seen;
  std::optional<host::DiskDescription> disk;
  if (request.read_only) {
    ABSL_ASSIGN_OR_RETURN(disk, deps_.host->disk().Describe(context, number));
    ABSL_ASSIGN_OR_RETURN(const auto volumes, deps_.host->volume().LookAtDisk(
                                                  context, number, deps_.roots.get(), &seen));
    ABSL_RETURN_IF_ERROR(groups::AboutField("disk_number", host::CheckNotMounted(number, volumes)));
  }
  ABSL_RETURN_IF_ERROR(deps_.host->disk().SetReadOnly(context, number, request.read_only, &seen,
                                                      disk.has_value() ? &*disk : nullptr));
  if (!request.read_only) {
    // A file system that was mounted on a read-only disk stays read-only until it is remounted.
    ABSL_ASSIGN_OR_RETURN(const auto volumes,
                          deps_.host->volume().ListOnDisk(context, number, &seen));
    ABSL_RETURN_IF_ERROR(deps_.host->volume().MakeWritable(context, volumes));
  }
  return SetDiskReadOnlyResponse{};
}

absl::StatusOr<FormatVolumeResponse> StorageService::FormatVolume(
    const CallContext& context, const FormatVolumeRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const auto volume, VolumeId::Parse(request.volume_id));
  ABSL_ASSIGN_OR_RETURN(
      const auto options,
      groups::ReadFormat(request.file_system, request.allocation_unit_bytes, request.label));
  ABSL_RETURN_IF_ERROR(groups::LockAndFormat(
      deps_, context, volume, options,
      request.overwrite ? groups::Erase::kUnmounted : groups::Erase::kNothing));
  return FormatVolumeResponse{};
}

const host::Partition* DataPartition(const host::DiskDescription& disk) {
  const auto found = std::find_if(disk.partitions.begin(), disk.partitions.end(), IsData);
  return found == disk.partitions.end() ? nullptr : &*found;
}

absl::Status CheckPartitions(const host::DiskDescription& disk) {
  for (const host::Partition& partition : disk.partitions) {
    if (partition.kind == host::PartitionKind::kDynamic) {
      return absl::FailedPreconditionError(
          absl::StrCat("disk: disk ", disk.number,
                       " is a dynamic disk, whose volumes WMI does not manage: use a basic disk"));
    }
    if (partition.kind != host::PartitionKind::kOther) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("disk: partition ", partition.partition_number, " of disk ", disk.number,
                     " is not of the basic data type: another system uses the disk; ask the owner "
                     "of the data"));
  }
  if (std::count_if(disk.partitions.begin(), disk.partitions.end(), IsData) > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("disk: disk ", disk.number, " has several data partitions"));
  }
  return absl::OkStatus();
}

std::unique_ptr<Service> NewStorageService(const groups::HandlerDeps& deps) {
  return std::make_unique<StorageService>(deps);
}

}  // namespace csi_proxy::storage

#include "server/groups/storage/foreign.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace csi_proxy::storage {
namespace {

bool IsData(const host::Partition& partition) {
  return partition.kind == host::PartitionKind::kData;
}

}  // namespace

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
                     " is not of the basic data type, so the disk is somebody else's"));
  }
  if (std::count_if(layout.partitions.begin(), layout.partitions.end(), IsData) > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("disk: disk ", number, " has several data partitions"));
  }
  return absl::OkStatus();
}

}  // namespace csi_proxy::storage

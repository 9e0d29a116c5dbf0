#include "server/groups/storage/foreign.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"

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

absl::Status CheckBlank(host::DiskHost& host, const CallContext& context, uint32_t number,
                        uint64_t offset_bytes, uint64_t size_bytes) {
  ABSL_ASSIGN_OR_RETURN(const auto blank, host.IsBlank(context, number, offset_bytes, size_bytes));
  if (blank) return absl::OkStatus();
  // learn.microsoft.com/windows-server/administration/windows-commands/clean
  return absl::FailedPreconditionError(absl::StrCat(
      "disk: disk ", number,
      " holds data that Windows does not know, and is not formatted. If nobody needs that, wipe "
      "the disk first: `select disk ",
      number, "`, `clean all` of diskpart"));
}

}  // namespace csi_proxy::storage

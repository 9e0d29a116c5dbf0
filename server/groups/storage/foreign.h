// Finds data on a disk that StageVolume must not touch. host/windows_use.h finds the disks that
// Windows uses.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "server/host/disk_host.h"

namespace csi_proxy::storage {

// Returns the partition of the disk's volume; null if there is none yet.
const host::Partition* DataPartition(const host::DiskLayout& layout);

// Returns FAILED_PRECONDITION for a disk with several data partitions, or with partitions that
// StageVolume does not make. An MBR disk may have one data partition: Kubernetes made such disks
// before CSI drivers existed (github.com/kubernetes/kubernetes issue 64082).
absl::Status CheckPartitions(uint32_t number, const host::DiskLayout& layout);

}  // namespace csi_proxy::storage

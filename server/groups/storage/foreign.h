// Data that a disk may hold and that StageVolume must not touch. host/windows_use.h finds the disks
// in use by Windows.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "server/host/disk_host.h"

namespace csi_proxy::storage {

// The partition that holds the disk's volume; null when it has none yet.
const host::Partition* DataPartition(const host::DiskLayout& layout);

// FAILED_PRECONDITION for a disk with several data partitions, or with partitions of other kinds
// than StageVolume makes. An MBR disk may have its one data partition: volumes that Kubernetes made
// before it had CSI drivers are such (github.com/kubernetes/kubernetes issue 64082).
absl::Status CheckPartitions(uint32_t number, const host::DiskLayout& layout);

}  // namespace csi_proxy::storage

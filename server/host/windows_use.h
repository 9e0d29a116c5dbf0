// Finds the disks that Windows uses, which are not for drivers. Every call that writes to a disk
// asks here, and a refusal names the use; groups/README.md has the table of calls.
//
// A disk is Windows' own when Windows runs on it or starts from it (IsBoot, IsSystem of MSFT_Disk,
// learn.microsoft.com/windows-hardware/drivers/storage/msft-disk). It is in use by the node when
// one of its volumes has a drive letter, or is mounted at a folder that no driver may touch. Such
// disks are the node's temporary disk, an administrator's disk, and every disk with a page file or
// a crash dump, for the paths of both begin with a letter
// (learn.microsoft.com/windows/win32/cimwin32prov/win32-pagefilesetting; "How to use the
// DedicatedDumpFile registry value", learn.microsoft.com/archive/blogs/ntdebugging).
//
// Windows gives no letter of its own accord to a volume on a GPT disk, such as drivers make, but
// does to one on an MBR disk (support.microsoft.com/help/867819).
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "csi_proxy/call_context.h"
#include "server/host/host.h"
#include "server/machine/cim/value.h"

namespace csi_proxy::host {

// FAILED_PRECONDITION for a disk that is Windows' own.
absl::Status CheckNotWindows(uint32_t disk_number, bool is_boot, bool is_system);

// The same by its MSFT_Disk.
absl::Status CheckNotWindows(uint32_t disk_number, const cim::Object& disk);

// The same for the disk of a volume.
absl::Status CheckNotWindows(cim::Session& wmi, machine::Os& os, const CallContext& context,
                             const VolumeId& volume);

// FAILED_PRECONDITION for a disk of which a volume has a drive letter or is mounted at a folder
// that no driver may touch. Asks no WMI. Null `roots`: drivers may touch any folder.
absl::Status CheckNotMounted(Host& host, const CallContext& context, const PathRoots* roots,
                             uint32_t disk_number);

// FAILED_PRECONDITION for a disk of which a volume has more than drive letters that Windows may
// have given it when it arrived: a mount at a folder that no driver may touch, a page file, or a
// working directory.
absl::Status CheckOnlyLetters(Host& host, const CallContext& context, const PathRoots* roots,
                              uint32_t disk_number);

// FAILED_PRECONDITION for a disk that is Windows' own or in use by the node: both of the above.
absl::Status CheckUnused(Host& host, const CallContext& context, const PathRoots* roots,
                         const DiskDescription& disk);

}  // namespace csi_proxy::host

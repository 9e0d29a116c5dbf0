// Finds the disks that Windows uses and drivers must not use. Every call that partitions, formats,
// grows or mounts checks the disk here; a refusal names the use; groups/README.md lists the calls.
//
// A disk is Windows' own if Windows runs on it or starts from it (IsBoot, IsSystem of MSFT_Disk,
// learn.microsoft.com/windows-hardware/drivers/storage/msft-disk). A disk is in use by the node if
// one of its volumes has a drive letter or is mounted at a folder that no driver may touch. Such
// disks are the temporary disk, an administrator's disk, and every disk with a page file or crash
// dump, because the paths of both begin with a letter
// (learn.microsoft.com/windows/win32/cimwin32prov/win32-pagefilesetting; "How to use the
// DedicatedDumpFile registry value", learn.microsoft.com/archive/blogs/ntdebugging).
//
// Windows assigns a letter to a new volume on an MBR disk, but not on a GPT disk, the kind that
// drivers make (support.microsoft.com/help/867819).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/host/host.h"
#include "server/machine/cim/value.h"

namespace csi_proxy::host {

// Returns a flag of an object of WMI; false if the flag is missing or null. Returns true if the
// value cannot be read, because a disk that may be Windows' own must be treated as such.
bool IsOrMayBe(const cim::Object& object, absl::string_view flag);

// Returns FAILED_PRECONDITION for a disk that is Windows' own.
absl::Status CheckNotWindows(const DiskDescription& disk);

// Returns FAILED_PRECONDITION if a volume of the disk has a drive letter or is mounted at a folder
// that no driver may touch. REQUIRES: `volumes` are all volumes of the disk, with their mounts.
absl::Status CheckNotMounted(uint32_t disk_number, const std::vector<VolumeView>& volumes);

// Returns FAILED_PRECONDITION if a volume of the disk is mounted at a folder that no driver may
// touch, or has a drive letter and contains a page file or a working directory. A drive letter
// alone is allowed, because Windows may have assigned it on arrival. REQUIRES: `roots` is not null;
// `volumes` are all volumes of the disk, with their mounts.
absl::Status CheckOnlyLetters(Host& host, const CallContext& context, const PathRoots* roots,
                              uint32_t disk_number, const std::vector<VolumeView>& volumes);

// Returns FAILED_PRECONDITION if the disk is Windows' own or in use by the node. `seen` is the
// caller's view of the volumes: see VolumesOn(). If `roots` is null, drivers may touch any
// folder.
absl::Status CheckUnused(Host& host, const CallContext& context, const PathRoots* roots,
                         const DiskDescription& disk, NodeVolumes* seen = nullptr);

}  // namespace csi_proxy::host

// The operations of a node on whole disks.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/log_function.h"
#include "server/base/condition.h"
#include "server/host/devices.h"
#include "server/host/disk_description.h"
#include "server/host/host_deps.h"

namespace csi_proxy::host {

// The queries of DiskHost::ListDisks() to the disks themselves, in addition to WMI: at most five
// calls to Windows per disk.
enum class AskDisks {
  kNothing,
  // The LUN of Azure's NVMe disks.
  kLocation,
  // `page83`, `eui`, `nvme_namespace_id`.
  kIds,
  // kLocation, kIds and `is_read_only`.
  kAll,
};

// The result of bringing a disk online or taking it offline.
struct StateChange {
  // True if the call changed the disk's state.
  bool changed = false;
  // True if the disk was online and read-only, so that a file system may be mounted read-only.
  bool was_online_read_only = false;
};

// Thread-safe. NOT_FOUND for a missing disk number, except from AwaitChanges() and
// BringPartitionsOnline(). A refusal by Windows has the status code of names/refusals.h, and names
// the operation and Windows' error.
class DiskHost {
 public:
  explicit DiskHost(const HostDeps& deps)
      : deps_(deps), wmi_(*deps.wmi), storage_(*deps.storage), os_(*deps.os), warn_(deps.warn) {}

  // Lists every disk that has a number, readable or not, sorted by number. UNAVAILABLE if WMI shows
  // no disk.
  absl::StatusOr<std::vector<DiskDescription>> ListDisks(const CallContext& context,
                                                         AskDisks ask = AskDisks::kAll);

  // Describes one disk. Queries the disk itself at least for `is_read_only`.
  absl::StatusOr<DiskDescription> Describe(const CallContext& context, uint32_t disk_number,
                                           AskDisks ask = AskDisks::kNothing);

  // Sets `content` of each online disk, other than Windows' own, with content that Windows does not
  // recognise: bytes without a partition table, or only partitions of another system. The text
  // begins with `not known: ` if the disk or the list of its partitions cannot be read: within 300
  // ms, or within the time of the call. A disk that hangs keeps a thread.
  void ReadContents(const CallContext& context, std::vector<DiskDescription>* disks);

  absl::Status Rescan(const CallContext& context);

  // Returns Describe() with `partitions`. UNAVAILABLE if another disk has the number now, if the
  // disk belongs to another node of a failover cluster, or if WMI does not show the disk or its
  // partitions. The layout of an offline disk may be wrong.
  absl::StatusOr<DiskDescription> GetLayout(const CallContext& context, uint32_t disk_number);

  // Returns UNAVAILABLE if the device of `disk` has another number now; OK if it does not answer.
  absl::Status CheckStill(const DiskDescription& disk);

  // Writes an empty GPT. REQUIRES: `disk` is raw, and from GetLayout() after the disk came online.
  absl::Status InitializeGpt(const CallContext& context, const DiskDescription& disk);

  // Creates a basic partition over all free space. Its volume may arrive later. FAILED_PRECONDITION
  // if no space is free. REQUIRES: `disk` is from GetLayout() after the disk came online.
  absl::Status CreateBasicPartition(const CallContext& context, const DiskDescription& disk);

  // Mounts the volumes of the basic partitions, as Windows does unless automount is disabled
  // (mountvol /N). Does not change mounted ones.
  absl::Status BringPartitionsOnline(const CallContext& context, uint32_t disk_number);

  // Returns the size in bytes.
  absl::StatusOr<uint64_t> GetSize(const CallContext& context, uint32_t disk_number);

  // Returns "" if an online disk seems never written. Otherwise names the data at its beginning:
  // see FindData() in devices.h.
  absl::StatusOr<std::string> FindData(const CallContext& context, uint32_t disk_number, Look look);

  absl::StatusOr<bool> IsOnline(const CallContext& context, uint32_t disk_number);

  // Waits until Windows has finished each earlier SetOnline() of the disk, and each EndSessions()
  // that names it. Before that the state of the disk may still change.
  absl::Status AwaitChanges(const CallContext& context, uint32_t disk_number);

  // Brings a disk online and clears its read-only flag, or takes it offline. Does not change a disk
  // that is already in the requested state. Volumes may arrive later. To take a disk offline:
  // FAILED_PRECONDITION if Windows refuses (critical or in use), boots from the disk or runs on it.
  //
  // Before it brings the disk online, waits as AwaitChanges() does. Before it takes the disk
  // offline, waits only for an earlier Online. `disk`, if not null, is the caller's picture of the
  // disk, read under the disk's lock, and saves a query.
  absl::StatusOr<StateChange> SetOnline(const CallContext& context, uint32_t disk_number,
                                        bool online, const DiskDescription* disk = nullptr);

  // Sets or clears the disk's persistent read-only flag; no change if the flag has that value.
  // FAILED_PRECONDITION to set the flag of an offline disk, or of the disk that Windows boots from
  // or runs on. `seen` is the caller's picture of the volumes; see VolumesOn().
  absl::Status SetReadOnly(const CallContext& context, uint32_t disk_number, bool read_only,
                           NodeVolumes* seen = nullptr);

  // Returns true if the disk itself reports one partition besides Microsoft's reserved one, and is
  // not dynamic, so that it has at most one volume. False if it does not answer.
  bool HasOnePartition(const CallContext& context, uint32_t disk_number);

  // Counts the volumes that will arrive on the disk: its basic data partitions that are not hidden.
  // 0 if its layout cannot be read.
  absl::StatusOr<size_t> CountPromisedVolumes(const CallContext& context, uint32_t disk_number);

 private:
  // Returns the number of an MSFT_Disk. Logs, once, a disk without a number: calls cannot name it.
  absl::StatusOr<uint32_t> NumberOf(const cim::Object& disk);
  // Describes a disk from its MSFT_Disk and its own answers.
  DiskDescription Describe(uint32_t disk_number, const cim::Object& disk, AskDisks ask);
  // Calls MSFT_Disk.Online or Offline.
  absl::Status InvokeState(const CallContext& context, const DiskDescription& disk, bool online);
  absl::StatusOr<cim::Object> FindDisk(const CallContext& context, uint32_t disk_number,
                                       bool is_fresh = false);

  const HostDeps deps_;
  cim::Session& wmi_;
  StorageNamespace& storage_;
  machine::Os& os_;
  const LineFunction warn_;
  Mutex mutex_;
  // The paths of the disks that were logged.
  std::set<std::string> warned_ ABSL_GUARDED_BY(mutex_);
  // Last, so that they are destroyed first: their runs use the other members.
  std::array<SharedRun<absl::StatusOr<std::vector<DiskDescription>>>, 4> listings_;  // by AskDisks
};

}  // namespace csi_proxy::host

// The operations of a node on whole disks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
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

// What DiskHost reads from the disks themselves in addition to WMI. This takes at most five calls
// to Windows per disk.
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
  // True if the disk was read-only while it was online, so file systems may be mounted read-only.
  bool was_online_read_only = false;
  // The disk's description from before the change, if the caller gave none.
  std::optional<DiskDescription> found = std::nullopt;
};

// Thread-safe. A method with a disk number returns NOT_FOUND if the disk is missing, except
// AwaitChanges(), BringPartitionsOnline() and HasOnePartition(). A refusal by Windows has the
// status code of names/refusals.h, and names the operation and Windows' error.
class DiskHost {
 public:
  using Listings = std::array<SharedRun<absl::StatusOr<std::vector<DiskDescription>>>, 4>;

  explicit DiskHost(const HostDeps& deps)
      : deps_(deps), wmi_(*deps.wmi), storage_(*deps.storage), os_(*deps.os), warn_(deps.warn) {}

  // The runs of ListDisks(), by AskDisks.
  Listings& listings() { return listings_; }

  // Lists every disk that has a number, readable or not, sorted by number. UNAVAILABLE if WMI shows
  // no disk.
  absl::StatusOr<std::vector<DiskDescription>> ListDisks(const CallContext& context,
                                                         AskDisks ask = AskDisks::kAll);

  // Describes one disk. Queries the disk itself at least for `is_read_only`.
  absl::StatusOr<DiskDescription> Describe(const CallContext& context, uint32_t disk_number,
                                           AskDisks ask = AskDisks::kNothing);

  // Sets `content` of each online disk with content that Windows does not recognise: bytes without
  // a partition table, or only partitions of another system. Skips Windows' own disks. The text
  // begins with `not known: ` if the disk cannot be read within 300 ms, or if WMI does not list its
  // partitions within a second. A disk that hangs keeps a thread.
  void ReadContents(const CallContext& context, std::vector<DiskDescription>* disks);

  absl::Status Rescan(const CallContext& context);

  // Describes one disk, with `partitions`. UNAVAILABLE if the disk's device has another number now,
  // or if WMI does not show the disk or its partitions. FAILED_PRECONDITION if CheckOne() fails, as
  // on a node of a failover cluster. The layout of an offline disk may be wrong.
  absl::StatusOr<DiskDescription> GetLayout(const CallContext& context, uint32_t disk_number);

  // Returns UNAVAILABLE if the device of `disk` has another number now; OK if it does not answer.
  absl::Status CheckStill(const DiskDescription& disk);
  // Does the same, and returns UNAVAILABLE also if WMI shows another disk with the number of `disk`
  // now.
  absl::Status CheckStill(const CallContext& context, const DiskDescription& disk);

  // Writes a GPT, in which Windows makes only its reserved partition. REQUIRES: `disk` is raw.
  // GetLayout() returned it after the disk came online.
  absl::Status InitializeGpt(const CallContext& context, const DiskDescription& disk);

  // Creates a basic partition over all free space. Its volume may arrive later. FAILED_PRECONDITION
  // if no space is free. REQUIRES: GetLayout() returned `disk` after the disk came online.
  absl::Status CreateBasicPartition(const CallContext& context, const DiskDescription& disk);

  // Mounts the volumes of the basic partitions; does not change mounted volumes. Windows does the
  // same on its own unless automount is disabled (mountvol /N).
  absl::Status BringPartitionsOnline(const CallContext& context, uint32_t disk_number);

  // Returns the size in bytes.
  absl::StatusOr<uint64_t> GetSize(const CallContext& context, uint32_t disk_number);

  // Returns "" if an online disk seems never written. Otherwise names the data at its beginning:
  // see FindData() in devices.h. Reads the places of Look::kThroughout. UNAVAILABLE if, by
  // page 83, another disk replaces `disk` meanwhile, or has since `disk.page83` was read.
  absl::StatusOr<std::string> FindData(const CallContext& context, const DiskDescription& disk);

  absl::StatusOr<bool> IsOnline(const CallContext& context, uint32_t disk_number);

  // Waits until Windows has finished each earlier SetOnline() and SetReadOnly() of the disk, and
  // each EndSessions() that names it. Before that the state of the disk may still change.
  absl::Status AwaitChanges(const CallContext& context, uint32_t disk_number);

  // Brings a disk online and clears its read-only flag, or takes it offline. Does not change a disk
  // that is already in the requested state. Volumes may arrive later. FAILED_PRECONDITION if a disk
  // to take offline is Windows' own, or if Windows refuses because the disk is critical or in use.
  //
  // To bring the disk online, first waits like AwaitChanges(). To take the disk offline, first
  // waits only for an earlier Online. `disk`, if not null, is the caller's view of the disk, read
  // under the disk's lock, and saves a query. UNAVAILABLE if another disk has got the number; then
  // makes no further change.
  absl::StatusOr<StateChange> SetOnline(const CallContext& context, uint32_t disk_number,
                                        bool online, const DiskDescription* disk = nullptr);

  // Sets or clears the disk's persistent read-only flag; no change if the flag has that value.
  // First waits like AwaitChanges(). To set the flag, also flushes and dismounts the volumes.
  // FAILED_PRECONDITION if a disk to make read-only is offline or Windows' own, UNAVAILABLE if
  // another disk has its number now. `seen` is the caller's view of the volumes: see VolumesOn().
  // `disk`, if not null, is the caller's view of the disk, and saves a query.
  absl::Status SetReadOnly(const CallContext& context, uint32_t disk_number, bool read_only,
                           NodeVolumes* seen = nullptr, const DiskDescription* disk = nullptr);

  // Returns true if the disk itself reports exactly one partition besides Microsoft's reserved one,
  // and is not dynamic: it then has at most one volume. False if it does not answer within 300 ms.
  bool HasOnePartition(const CallContext& context, uint32_t disk_number);

  // Counts the volumes that will arrive on the disk: its partitions with
  // machine::PartitionEntry::holds_volume. Returns 0 if the layout cannot be read.
  absl::StatusOr<size_t> CountPromisedVolumes(const CallContext& context, uint32_t disk_number);

 private:
  // Returns the number of an MSFT_Disk. Logs, once, a disk without a number: calls cannot name it.
  absl::StatusOr<uint32_t> NumberOf(const cim::Object& disk);
  // Describes a disk from its MSFT_Disk and its own answers.
  DiskDescription Describe(uint32_t disk_number, const cim::Object& disk, AskDisks ask);
  // Calls MSFT_Disk.Online or Offline. Returns an error instead of taking a disk offline that is
  // Windows' own or has another number now.
  absl::Status InvokeState(const CallContext& context, const DiskDescription& disk, bool online);
  // Describes a disk from its MSFT_Disk alone.
  absl::StatusOr<DiskDescription> DescribeFromWmi(const CallContext& context, uint32_t disk_number);
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
  // The last member, so that it is destroyed first, because its runs use the other members.
  Listings listings_;
};

}  // namespace csi_proxy::host

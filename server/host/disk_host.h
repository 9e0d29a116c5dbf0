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
#include "server/host/deps.h"
#include "server/host/devices.h"
#include "server/host/disk_description.h"

namespace csi_proxy::host {

// What DiskHost::ListDisks() asks the disks themselves, beside WMI. Each is one to four calls of
// Windows for a disk.
enum class AskDisks {
  kNothing,
  // The LUN that only Azure's disks report.
  kLocation,
  // `page83`, `eui`, `nvme_namespace_id`.
  kIds,
  // Both, and `is_read_only`.
  kAll,
};

// The result of bringing a disk online or taking it offline.
struct StateChange {
  // True if the call changed the disk's state.
  bool changed = false;
  // True if the disk was online and read-only at the same time: a file system may have been mounted
  // read-only.
  bool was_online_read_only = false;
};

// Thread-safe. Every method returns NOT_FOUND for a disk number that no disk has, and INTERNAL
// (operation, Windows error code and text) if Windows refuses.
class DiskHost {
 public:
  explicit DiskHost(const Deps& deps)
      : deps_(deps), wmi_(*deps.wmi), storage_(*deps.storage), os_(*deps.os), warn_(deps.warn) {}

  // Lists every disk, readable or not, by number.
  absl::StatusOr<std::vector<DiskDescription>> ListDisks(const CallContext& context,
                                                         AskDisks ask = AskDisks::kAll);

  // Describes one disk. Asks it at least for `is_read_only`.
  absl::StatusOr<DiskDescription> Describe(const CallContext& context, uint32_t disk_number,
                                           AskDisks ask = AskDisks::kNothing);

  // Sets `content` of the online disks that hold content which Windows does not recognise: bytes
  // without a partition table, or only partitions of another system. The text begins with `not
  // known: ` for a disk that cannot be read, does not answer within a third of a second, or has no
  // turn in the time of the call. A disk that hangs keeps a thread.
  void ReadContents(const CallContext& context, std::vector<DiskDescription>* disks);

  absl::Status Rescan(const CallContext& context);

  // Returns Describe() with `partitions`. UNAVAILABLE if the number, or the disk, is another's by
  // now. The layout of an offline disk may be wrong.
  absl::StatusOr<DiskDescription> GetLayout(const CallContext& context, uint32_t disk_number);

  // Returns UNAVAILABLE if the device of `disk` has another number now; OK if it does not answer.
  absl::Status CheckStill(const DiskDescription& disk);

  // Writes an empty GPT. REQUIRES: `disk`, of GetLayout() since the disk came online, is raw.
  absl::Status InitializeGpt(const CallContext& context, const DiskDescription& disk);

  // Creates a basic partition over all free space. Its volume may arrive later. FAILED_PRECONDITION
  // if no space is free. REQUIRES: `disk` is of GetLayout() since the disk came online.
  absl::Status CreateBasicPartition(const CallContext& context, const DiskDescription& disk);

  // Mounts the volumes of the basic partitions, as Windows does unless automount is disabled
  // (mountvol /N). Leaves mounted ones alone.
  absl::Status BringPartitionsOnline(const CallContext& context, uint32_t disk_number);

  // Returns the size in bytes.
  absl::StatusOr<uint64_t> GetSize(const CallContext& context, uint32_t disk_number);

  // Returns "" if an online disk seems never written, else names the data at its beginning: see
  // FindData() in devices.h.
  absl::StatusOr<std::string> FindData(const CallContext& context, uint32_t disk_number, Look look);

  absl::StatusOr<bool> IsOnline(const CallContext& context, uint32_t disk_number);

  // Waits for the end of a SetOnline() of the disk, or of an EndSessions() that names it, that
  // Windows has not finished. Until then the state of the disk is not to be relied on.
  absl::Status AwaitChanges(const CallContext& context, uint32_t disk_number);

  // Brings a disk online and clears its read-only flag, or takes it offline. Waits
  // before it brings the disk online, as AwaitChanges() does; before it takes the disk offline,
  // waits only for an earlier Online. No change if it is in that state. Volumes may arrive later.
  // FAILED_PRECONDITION if Windows refuses to take the disk offline (critical or in use), and for
  // the disk that Windows boots from or runs on. `disk`, if not null, is the caller's picture of
  // the disk under its lock, and saves a query.
  absl::StatusOr<StateChange> SetOnline(const CallContext& context, uint32_t disk_number,
                                        bool online, const DiskDescription* disk = nullptr);

  // Sets or clears the disk's persistent read-only flag; no change if the flag has that value.
  // FAILED_PRECONDITION to set the flag of a disk that is offline, or that Windows boots from or
  // runs on. `seen` is the caller's picture of the volumes; see VolumesOn().
  absl::Status SetReadOnly(const CallContext& context, uint32_t disk_number, bool read_only,
                           NodeVolumes* seen = nullptr);

  // Returns true if the disk itself says that it has one partition beside Microsoft's reserved one,
  // and is not dynamic: it holds one volume at most. False if it does not answer in time.
  bool HasOnePartition(const CallContext& context, uint32_t disk_number);

  // Counts the volumes that the disk will have once all have arrived: its basic data partitions
  // that are not hidden. 0 if its layout cannot be read.
  absl::StatusOr<size_t> CountPromisedVolumes(const CallContext& context, uint32_t disk_number);

 private:
  // Returns the number of an MSFT_Disk. A disk without a number, which no call can name, is logged
  // once.
  absl::StatusOr<uint32_t> NumberOf(const cim::Object& disk);
  // Describes a disk from its MSFT_Disk and its own answers.
  DiskDescription Describe(uint32_t disk_number, const cim::Object& disk, AskDisks ask);
  // Calls MSFT_Disk.Online or Offline.
  absl::Status InvokeState(const CallContext& context, const DiskDescription& disk, bool online);
  absl::StatusOr<cim::Object> FindDisk(const CallContext& context, uint32_t disk_number,
                                       bool is_fresh = false);

  const Deps deps_;
  cim::Session& wmi_;
  StorageNamespace& storage_;
  machine::Os& os_;
  const LineFunction warn_;
  Mutex mutex_;
  // The paths of the disks that were logged.
  std::set<std::string> warned_ ABSL_GUARDED_BY(mutex_);
  // Last, because their runs use the other members.
  std::array<SharedRun<absl::StatusOr<std::vector<DiskDescription>>>, 4> listings_;  // by AskDisks
};

}  // namespace csi_proxy::host

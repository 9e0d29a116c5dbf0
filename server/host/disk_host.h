// The operations of a node on whole disks.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/log_function.h"
#include "server/base/condition.h"
#include "server/host/deps.h"

namespace csi_proxy::host {

// The location of a disk as in MSFT_Disk.Location, empty if that says nothing: `Integrated :
// Adapter 0 : Port 0 : Target 1 : LUN 0`. Adds a LUN that only Azure shows.
struct DiskLocationText {
  uint32_t disk_number = 0;
  std::string location;
};

// The identifiers of a disk. If the disk did not answer, `status` is the reason and the other
// fields hold WMI's values.
struct DiskIdentity {
  uint32_t disk_number = 0;
  // First page 83 identifier associated with the device: ASCII as text, binary as lower-case hex.
  std::string page83;
  std::string serial_number;
  absl::Status status;
};

enum class PartitionStyle { kRaw, kMbr, kGpt };

// All that Windows reports of a disk. Fields that it does not report are empty, 0 or false.
struct DiskDescription {
  uint32_t disk_number = 0;
  // MSFT_Disk's name: `SAS`, `NVMe`, `iSCSI`, `Fibre Channel`.
  std::string bus_type;
  // The device path.
  std::string path;
  // The serial number without surrounding spaces.
  std::string serial_number;
  std::string unique_id;
  // See DiskLocationText.
  std::string location;
  // See DiskIdentity; `status` is the reason if the disk could not be asked.
  std::string page83;
  absl::Status status;
  // For an NVMe disk: its EUI-64 or NGUID in lower-case hexadecimal, and its namespace id, which
  // Windows reports for old devices only.
  std::string eui;
  uint32_t nvme_namespace_id = 0;
  uint64_t size_bytes = 0;
  // The size of a logical sector; 0 if unknown.
  uint32_t sector_bytes = 0;
  PartitionStyle style = PartitionStyle::kRaw;
  // True if Windows runs on the disk.
  bool is_boot = false;
  // True if the firmware starts Windows from the disk.
  bool is_system = false;
  // Returns true if Windows runs on the disk or starts from it; see windows_use.h.
  bool has_windows() const { return is_boot || is_system; }
  bool is_online = true;
  bool is_read_only = false;
  // `Policy` or `Collision`; empty unless offline.
  std::string offline_reason;
  // `Healthy`, `Warning` or `Unhealthy`.
  std::string health;
  // Set by DiskHost::ReadContents().
  std::string content;
};

enum class PartitionKind {
  // The basic data type of the disk's style.
  kData,
  // Microsoft's reserved partition, which Windows creates on every GPT disk.
  kReserved,
  // A partition of a dynamic disk.
  kDynamic,
  // Any other type: EFI system, recovery, another system's.
  kOther,
};

struct Partition {
  // Counted from 1.
  uint32_t partition_number = 0;
  // False only for the types that are known to hold no volume.
  bool is_basic = false;
  PartitionKind kind = PartitionKind::kOther;
};

struct DiskLayout {
  bool is_online = false;
  bool is_read_only = false;
  PartitionStyle style = PartitionStyle::kRaw;
  // See DiskDescription.
  bool is_boot = false;
  bool is_system = false;
  // See DiskDescription.
  std::string offline_reason;
  std::vector<Partition> partitions;
  // The path of the disk's MSFT_Disk.
  std::string object;
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

  absl::StatusOr<std::vector<DiskLocationText>> ListDiskLocations(const CallContext& context);

  // Returns one entry per disk, readable or not.
  absl::StatusOr<std::vector<DiskIdentity>> ListDiskIdentities(const CallContext& context);

  // Lists every disk, readable or not, by number.
  absl::StatusOr<std::vector<DiskDescription>> ListDisks(const CallContext& context);

  // Returns WMI's description of one disk, without the identifiers that only the disk itself
  // reports (page 83, EUI, namespace).
  absl::StatusOr<DiskDescription> Describe(const CallContext& context, uint32_t disk_number);

  // Returns DiskDescription::health of every disk by number, by one query.
  absl::StatusOr<std::map<uint32_t, std::string>> ListHealth(const CallContext& context);

  // Sets `content` of the online disks that hold content which Windows does not recognise: bytes
  // without a partition table, or only partitions of another system. The text begins with `not
  // known: ` for a disk that cannot be read, does not answer within a third of a second, or has no
  // turn in the time of the call. A disk that hangs keeps a thread.
  void ReadContents(const CallContext& context, std::vector<DiskDescription>* disks);

  absl::Status Rescan(const CallContext& context);

  absl::StatusOr<DiskLayout> GetLayout(const CallContext& context, uint32_t disk_number);

  // Writes an empty GPT. `layout`, of GetLayout(), saves a query. REQUIRES: the disk is raw and
  // online.
  absl::Status InitializeGpt(const CallContext& context, uint32_t disk_number,
                             const DiskLayout* layout = nullptr);

  // Creates a basic partition over all free space. Its volume may arrive later. FAILED_PRECONDITION
  // if no space is free.
  absl::Status CreateBasicPartition(const CallContext& context, uint32_t disk_number,
                                    const DiskLayout* layout = nullptr);

  // Mounts the volumes of the basic partitions, as Windows does unless automount is disabled
  // (mountvol /N). Leaves mounted ones alone.
  absl::Status BringPartitionsOnline(const CallContext& context, uint32_t disk_number);

  // Returns the size in bytes.
  absl::StatusOr<uint64_t> GetSize(const CallContext& context, uint32_t disk_number);

  // Returns true if the given range of an online disk seems never written. Reads its ends and
  // places in between: see IsBlank() in devices.h.
  absl::StatusOr<bool> IsBlank(const CallContext& context, uint32_t disk_number,
                               uint64_t offset_bytes, uint64_t size_bytes);

  // Names the data at the beginning of the disk, for an error: see DescribeData() in devices.h.
  std::string DescribeData(const CallContext& context, uint32_t disk_number);

  absl::StatusOr<bool> IsOnline(const CallContext& context, uint32_t disk_number);

  // Waits for the end of a SetOnline() of the disk, or of an EndSessions() that names it, that
  // Windows has not finished. Until then the state of the disk is not to be relied on.
  absl::Status AwaitChanges(const CallContext& context, uint32_t disk_number);

  // Brings a disk online and clears its read-only flag, or takes it offline. Waits
  // before it brings the disk online, as AwaitChanges() does; before it takes the disk offline,
  // waits only for an earlier Online. No change if it is in that state. Volumes may arrive later.
  // FAILED_PRECONDITION if Windows refuses to take the disk offline (critical or in use), and for
  // the disk that Windows boots from or runs on.
  absl::StatusOr<StateChange> SetOnline(const CallContext& context, uint32_t disk_number,
                                        bool online);

  // Sets or clears the disk's persistent read-only flag; no change if the flag has that value.
  // FAILED_PRECONDITION to set the flag of a disk that is offline, or that Windows boots from or
  // runs on.
  absl::Status SetReadOnly(const CallContext& context, uint32_t disk_number, bool read_only);

  // Counts the volumes that the disk will have once all have arrived: its basic data partitions
  // that are not hidden. 0 if its layout cannot be read.
  absl::StatusOr<size_t> CountPromisedVolumes(const CallContext& context, uint32_t disk_number);

 private:
  // Returns the number of an MSFT_Disk. A disk without a number, which no call can name, is logged
  // once.
  absl::StatusOr<uint32_t> NumberOf(const cim::Object& disk);
  // Calls `visit` for every disk that has a number.
  absl::Status ForEachDisk(const CallContext& context,
                           absl::FunctionRef<void(uint32_t, const cim::Object&)> visit);
  // Calls MSFT_Disk.Online or Offline.
  absl::Status InvokeState(const CallContext& context, uint32_t disk_number, bool online);
  absl::StatusOr<cim::Object> FindDisk(const CallContext& context, uint32_t disk_number,
                                       bool is_fresh = false);
  // Returns `*layout`, or at least the object and style of the disk if `layout` is null.
  absl::StatusOr<DiskLayout> LayoutOr(const DiskLayout* layout, const CallContext& context,
                                      uint32_t disk_number);

  const Deps deps_;
  cim::Session& wmi_;
  StorageNamespace& storage_;
  machine::Os& os_;
  const LineFunction warn_;
  Mutex mutex_;
  // The paths of the disks that were logged.
  std::set<std::string> warned_ ABSL_GUARDED_BY(mutex_);
  // Last, because their runs use the other members.
  SharedRun<absl::StatusOr<std::vector<DiskLocationText>>> locations_;
  SharedRun<absl::StatusOr<std::vector<DiskIdentity>>> identities_;
  SharedRun<absl::StatusOr<std::vector<DiskDescription>>> descriptions_;
};

}  // namespace csi_proxy::host

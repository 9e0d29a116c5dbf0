// The operations of a node on whole disks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy::host {

// A disk and where it hangs, as MSFT_Disk.Location spells it; empty when that says nothing:
// `Integrated : Adapter 0 : Port 0 : Target 1 : LUN 0`. A LUN that only Azure knows is added.
struct DiskLocationText {
  uint32_t disk_number = 0;
  std::string location;
};

// The names that a disk has for itself. `status` tells why an identifier is missing when the disk
// could not be asked; the other fields hold the facts that are known all the same.
struct DiskIdentity {
  uint32_t disk_number = 0;
  // First page 83 identifier associated with the device: ASCII as text, binary as lower-case hex.
  std::string page83;
  std::string serial_number;
  absl::Status status;
};

enum class PartitionStyle { kRaw, kMbr, kGpt };

// All that Windows says of a disk. A text is empty, a number 0 and a flag false where it says
// nothing.
struct DiskDescription {
  uint32_t disk_number = 0;
  // As MSFT_Disk's page names it: `SAS`, `NVMe`, `iSCSI`, `Fibre Channel`.
  std::string bus_type;
  // The path of its device.
  std::string path;
  // Trimmed.
  std::string serial_number;
  std::string unique_id;
  // As DiskLocationText has it.
  std::string location;
  // As DiskIdentity has it; `status` tells why it is missing when the disk could not be asked.
  std::string page83;
  absl::Status status;
  // For an NVMe disk: its EUI-64 or NGUID in lower-case hexadecimal, and the number of its
  // namespace, which Windows gives for old devices only.
  std::string eui;
  uint32_t nvme_namespace_id = 0;
  uint64_t size_bytes = 0;
  PartitionStyle style = PartitionStyle::kRaw;
  // Windows runs on it.
  bool is_boot = false;
  // The firmware starts Windows from it.
  bool is_system = false;
  // Either: see windows_use.h.
  bool has_windows() const { return is_boot || is_system; }
  bool is_online = true;
  bool is_read_only = false;
  // `Policy`, `Collision`; of an offline disk.
  std::string offline_reason;
  // `Healthy`, `Warning` or `Unhealthy`.
  std::string health;
};

enum class PartitionKind {
  // A partition of the basic data type of its disk's style.
  kData,
  // Microsoft's reserved partition, which Windows gives every GPT disk.
  kReserved,
  // A partition of a dynamic disk.
  kDynamic,
  // Any other: an EFI system's, a recovery's, another system's.
  kOther,
};

struct Partition {
  // From 1.
  uint32_t partition_number = 0;
  // May hold a volume: of the basic data type, or of one that is not known to hold none.
  bool is_basic = false;
  PartitionKind kind = PartitionKind::kOther;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
};

struct DiskLayout {
  bool is_online = false;
  bool is_read_only = false;
  PartitionStyle style = PartitionStyle::kRaw;
  // As DiskDescription has them.
  bool is_boot = false;
  bool is_system = false;
  // As DiskDescription has it.
  std::string offline_reason;
  std::vector<Partition> partitions;
  // The path of its MSFT_Disk.
  std::string object;
};

// A disk, by its number alone or with the result of GetLayout(), which then is not asked for again.
struct KnownDisk {
  KnownDisk(uint32_t disk_number) : number(disk_number) {}  // NOLINT(google-explicit-constructor)
  KnownDisk(uint32_t disk_number, const DiskLayout& layout)
      : number(disk_number), object(layout.object), style(layout.style) {}

  uint32_t number;
  // Empty: unknown, as is the style.
  std::string object;
  PartitionStyle style = PartitionStyle::kRaw;
};

// The result of bringing a disk online or taking it offline.
struct StateChange {
  // It was in the other state before.
  bool changed = false;
  // It was online and read-only at the same time, so that a file system may have been mounted
  // read-only.
  bool was_online_read_only = false;
};

// Thread-safe. Every method fails with NOT_FOUND for a disk number that no disk has, and INTERNAL
// (operation, Windows error code and text) when the node refuses.
class DiskHost {
 public:
  virtual ~DiskHost() = default;

  virtual absl::StatusOr<std::vector<DiskLocationText>> ListDiskLocations(
      const CallContext& context) = 0;

  // One entry per disk, readable or not.
  virtual absl::StatusOr<std::vector<DiskIdentity>> ListDiskIdentities(
      const CallContext& context) = 0;

  // Every disk, readable or not, by number.
  virtual absl::StatusOr<std::vector<DiskDescription>> ListDisks(const CallContext& context) = 0;

  // WMI's description of one disk, without the parts that only the disk itself knows (page 83, EUI,
  // namespace).
  virtual absl::StatusOr<DiskDescription> Describe(const CallContext& context,
                                                   uint32_t disk_number) = 0;

  virtual absl::Status Rescan(const CallContext& context) = 0;

  virtual absl::StatusOr<DiskLayout> GetLayout(const CallContext& context,
                                               uint32_t disk_number) = 0;

  // Writes an empty GPT to a raw, online disk.
  virtual absl::Status InitializeGpt(const CallContext& context, const KnownDisk& disk) = 0;

  // Creates a basic partition over all free space. Its volume may take a moment to arrive.
  // FAILED_PRECONDITION when no space is free.
  virtual absl::Status CreateBasicPartition(const CallContext& context, const KnownDisk& disk) = 0;

  // Mounts the volumes of the basic partitions, which Windows does by itself unless automount is
  // disabled (mountvol /N). No change for one that is mounted.
  virtual absl::Status BringPartitionsOnline(const CallContext& context, uint32_t disk_number) = 0;

  // In bytes.
  virtual absl::StatusOr<uint64_t> GetSize(const CallContext& context, uint32_t disk_number) = 0;

  // True if nobody seems to have written to a part of an online disk. Not all of it is read: see
  // IsBlank() in devices.h.
  virtual absl::StatusOr<bool> IsBlank(const CallContext& context, uint32_t disk_number,
                                       uint64_t offset_bytes, uint64_t size_bytes) = 0;

  virtual absl::StatusOr<bool> IsOnline(const CallContext& context, uint32_t disk_number) = 0;

  // Bringing a disk online clears its read-only flag too. No change when in that state already. Its
  // volumes may take a moment to arrive. FAILED_PRECONDITION when Windows refuses to take it
  // offline because it is critical or in use, and for the disk that Windows boots from or runs on.
  virtual absl::StatusOr<StateChange> SetOnline(const CallContext& context, uint32_t disk_number,
                                                bool online) = 0;

  // Sets or clears the disk's read-only flag, for good. No change when in that state already.
  // FAILED_PRECONDITION to set it of a disk that Windows boots from or runs on, and of one that is
  // offline.
  virtual absl::Status SetReadOnly(const CallContext& context, uint32_t disk_number,
                                   bool read_only) = 0;

  // Counts the volumes that the disk will have when all have arrived: its basic data partitions,
  // but those that are hidden. 0 when its layout cannot be read.
  virtual absl::StatusOr<size_t> CountPromisedVolumes(const CallContext& context,
                                                      uint32_t disk_number) = 0;
};

}  // namespace csi_proxy::host

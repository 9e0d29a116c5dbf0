// The whole of a simulated node as one plain value: a scenario describes it, the node changes it
// and a dump shows it. In a node's initial state, SteadyTime::InfiniteFuture() stands for the start
// of the node plus the delay that the field's comment names. For `cached_at`, the delay begins when
// the volume arrives. Not thread-safe: a Machine must guard its state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/base/secret.h"
#include "server/machine/os.h"
#include "server/names/volume_id.h"
#include "server/simulator/failure.h"
#include "server/simulator/tree.h"

namespace csi_proxy::machine::simulator {

enum class PartitionStyle { kRaw, kMbr, kGpt };

enum class PartitionType {
  kBasic,
  kMicrosoftReserved,
  kEfiSystem,
  kLinux,
  kLdmMetadata,
  kLdmData,
  kRecovery
};

struct Volume {
  VolumeId id;
  // Empty if the volume is not formatted.
  std::string file_system;
  // `A` to `Z`, or 0.
  char drive_letter = 0;
  Tree tree;
  // The label of the file system.
  std::string label = "";
  uint16_t health = 0;  // HealthStatus of MSFT_Volume
  bool dirty = false;
  // Folders that only the mount manager lists as the volume's mount points.
  std::vector<std::string> stale_folders = {};
  // The size of the file system; 0 means the size of the partition.
  uint64_t file_system_bytes = 0;
  // The volume's own attribute, independent of the disk's flag.
  bool read_only = false;
  // 0 means the default, 4096.
  uint32_t allocation_unit_bytes = 0;
};

// Further facts of a disk: its names, and its state as MSFT_Disk shows it.
struct DiskFacts {
  uint16_t bus_type = 0;
  // The OfflineReason of an offline disk; 0 means by policy.
  uint16_t offline_reason = 0;
  uint16_t health = 0;
  // UniqueId of MSFT_Disk, unless the disk has a SCSI name. If this is empty too, UniqueId comes
  // from the EUI, page 83 or the number.
  std::string unique_id;
  // True if Windows runs on the disk (`is_boot`) or starts from it (`is_system`). The disk with C:
  // counts as both even if these are false.
  bool is_boot = false;
  bool is_system = false;
  // The names of an NVMe disk in page 83; empty or 0 if it lacks the name. The EUI is hexadecimal.
  std::string eui;
  uint32_t nvme_namespace_id = 0;
  std::string scsi_name;
  // The GUID of a GPT disk, or the signature of an MBR disk. If empty, no other disk has the same.
  std::string disk_id;
  // The LUN, if the disk's location has no LUN.
  uint32_t lun = 0;
};

struct DiskPartition {
  uint32_t number = 0;
  PartitionType type = PartitionType::kBasic;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  std::optional<Volume> volume;
  // The time at which the volume appears. The delay is NodeState::volume_arrival_delay.
  SteadyTime arrives_at = SteadyTime::InfinitePast();
  // The time from which WMI shows the volume, unless a refresh comes earlier. The delay is
  // Behaviour::volume_cache_delay.
  SteadyTime cached_at = SteadyTime::InfinitePast();
  // True if the volume is not mounted, because automount is disabled and no program has called
  // MSFT_Partition.Online yet.
  bool awaits_online = false;
  // True if the file system was mounted while the disk was read-only, and refuses writes until it
  // is mounted again.
  bool mounted_read_only = false;
  // True if the firmware starts Windows from this partition; only on MBR disks.
  bool active = false;
};

// Bytes that an earlier user of a disk wrote from `offset_bytes` on.
struct DiskBytes {
  uint64_t offset_bytes = 0;
  std::string bytes;
};

struct Disk {
  uint32_t number = 0;
  // The size that Windows knows. The hardware may have grown to `grown_size_bytes` (0 if not);
  // a rescan or IOCTL_DISK_UPDATE_DRIVE_SIZE notices the growth.
  uint64_t size_bytes = 0;
  uint64_t grown_size_bytes = 0;
  std::string location;
  std::string page83;
  // If set, asking the disk for its page 83 fails with this error.
  std::optional<WindowsError> page83_error;
  std::string serial_number;
  PartitionStyle style = PartitionStyle::kRaw;
  // The size of a logical sector, 512 or 4096.
  uint32_t sector_bytes = 512;
  bool online = true;
  bool read_only = false;
  // True if the disk is attached, but not visible before the next rescan.
  bool awaits_rescan = false;
  // The time from which Windows sees the attached disk. The delay is Attach::arrival_delay.
  SteadyTime arrives_at = SteadyTime::InfinitePast();
  // True if Windows has no device for the disk, and WMI shows it without `Number`.
  bool without_number = false;
  DiskFacts facts;
  std::vector<DiskPartition> partitions;  // by offset
  // Bytes that Windows does not know of. All other bytes that Windows did not write are zero.
  std::vector<DiskBytes> foreign;
};

// How the cloud attaches a disk; see Attach of node.proto.
struct Attach {
  Disk disk;
  uint32_t first_place = 0;
  absl::Duration arrival_delay;
};

struct SmbUser {
  std::string name;
  Secret password;
};

struct SmbShare {
  std::string name;
  Tree tree;  // no mount points; links are DFS links
  // The size of the file system on the server. It contains only this share.
  uint64_t size_bytes = kDefaultBytes;

  static constexpr uint64_t kDefaultBytes = uint64_t{1} << 40;
};

struct SmbServer {
  std::string name;
  bool reachable = true;
  bool supports_privacy = true;
  bool anonymous = false;
  std::vector<SmbUser> users;
  std::vector<SmbShare> shares;
};

// A global mapping of the node.
struct SmbMappingState {
  // `\\host\share`, lower case.
  std::string remote_path;
  std::string username;
  // True if the mapping's password is no longer the user's, or an administrator broke the mapping.
  // Windows still shows the mapping as OK (github.com/kubernetes/kubernetes/issues/93805).
  bool broken = false;
  // True if Windows shows the mapping as disconnected, because it has not been used for a while.
  bool idle = false;
  // `G:`, or empty.
  std::string local_path;
  // See node.proto.
  bool persistent = false;
  bool restored = false;
  bool denied = false;
};

enum class ChapMode { kNone, kOneWay, kMutual };

// A target as one portal offers it. If several portals offer one IQN, they are paths to one target.
// The entry of the first portal has the target's disks and credentials. A further entry has its own
// session and, without MPIO, copies of the disks. `separate` marks another target with that IQN.
struct IscsiTarget {
  std::string iqn;
  ChapMode chap = ChapMode::kNone;
  std::string username;
  Secret secret;
  // The secret by which the target authenticates itself, for ChapMode::kMutual.
  Secret mutual_secret;
  bool separate = false;
  bool connected = false;
  // The authentication of the session.
  ChapMode session_chap = ChapMode::kNone;
  // True if the session is opened again at the next start of the node.
  bool persistent = false;
  // At the first portal, the target's disks. Windows sees them while the session by any portal is
  // live (IsLive() of iscsi.h). At each further portal, the copies of the disks that its session
  // shows, because MPIO does not claim the disks.
  std::vector<Disk> disks;
};

struct IscsiPortal {
  std::string address;
  uint16_t port = 3260;
};

struct IscsiPortalState {
  IscsiPortal portal;
  bool reachable = true;
  bool registered = false;
  bool discovery_chap = false;
  std::vector<IscsiTarget> targets;
};

struct Service {
  std::string name;
  std::string display_name;
  ServiceStartType start_type = ServiceStartType::kManual;
  ServiceState state = ServiceState::kStopped;
  std::vector<std::string> depends_on;
  absl::Duration start_latency;
  absl::Duration stop_latency;
  // The end of a pending state. The delay is start_latency (after dependencies) or stop_latency.
  SteadyTime pending_until = SteadyTime::InfiniteFuture();
};

// Which objects the answer of a WMI query contains.
enum class AnsweredObjects { kAll, kNone, kEachTwice };

// One entry of the table that each rpc and each call of Operations() consults before its work.
struct FaultRule {
  // `volume.FormatVolume`, `volume.*`, `*`, or a call such as `win32.Flush` (see Operations()).
  std::string operation;
  // The disk number, volume id, path, share, portal, IQN or service name of the call, ignoring
  // case; for an rpc, any field of the request. Empty for any.
  std::string resource;
  // The number of times that the rule applies before it is removed; 0 for always.
  uint32_t times = 0;
  // The delay of the operation. The end of the call ends the delay early.
  absl::Duration latency;
  // True if the operation never returns, like one that waits in the kernel for a dead disk. Only
  // the end of the process ends it, not the end of the call or of the node.
  bool stuck = false;
  // True if a WMI method does its work after the latency although its caller has gone.
  bool goes_on = false;
  AnsweredObjects objects = AnsweredObjects::kAll;
  // OK means that the operation does not fail. The fields above still apply.
  absl::StatusCode code = absl::StatusCode::kOk;
  WindowsError error;
};

// What WMI's methods return in out parameters for objects: objects as documented, null, or text.
enum class OutParameters { kGiven, kNull, kOdd };

// The scenario's choices where the behaviour of Windows depends on version, setting or chance. A
// flag is true if Windows behaves as the flag's comment says.
struct Behaviour {
  // WMI shows a new volume this much later than the mount manager does, unless WMI is refreshed.
  absl::Duration volume_cache_delay = absl::Seconds(1);
  OutParameters out_parameters = OutParameters::kGiven;
  // A volume that is new to the node stays away until its partition is brought online, as after
  // `mountvol /N`.
  bool automount_disabled = false;
  // SetVolumeMountPointW and DeleteVolumeMountPointW open their directory with FILE_SHARE_READ and
  // FILE_SHARE_WRITE. Otherwise they open it exclusively.
  bool mount_calls_share = false;
  // The file system does not support POSIX deletion: a deleted entry keeps its name until its last
  // handle is closed.
  bool plain_deletion = false;
  // Opening an entry that is being deleted fails with ERROR_ACCESS_DENIED instead of
  // ERROR_DELETE_PENDING.
  bool delete_pending_is_denied = false;
  // MSFT_Disk.Online makes the disk read-only.
  bool online_makes_read_only = false;
  // The part of the free space behind a partition into which a resize cannot grow it, in bytes.
  uint64_t resize_reserve_bytes = 0;
  // The mount manager does not notice that a reparse point was deleted, and keeps mounts of volumes
  // that are gone.
  bool stale_mount_entries = false;
  // Clearing the read-only flag of a disk lets its volumes arrive again.
  bool clearing_read_only_remounts = false;
  // A disk stays online while another process has an entry on it open.
  bool open_files_keep_online = false;
  // MPIO claims the disks of iSCSI: Windows shows a disk once even if several sessions lead to it.
  bool mpio = false;
};

// A handle that another process of the node holds on the entry at `path`, with the bits of
// server/machine/access.h.
struct OtherOpen {
  std::string path;
  uint32_t access = 0;
  uint32_t share = 0;
  int64_t process_id = 0;
  std::string image_name{};
};

// The last known places of disks and volumes, so that a search need not visit all disks. Not kept
// up to date: a reader must check that the disk or volume is still there (see find_storage.cc).
struct DeviceIndex {
  struct Place {
    size_t disk = 0;  // in NodeState::disks
    size_t partition = 0;
  };
  std::unordered_map<uint32_t, Place> disks;  // by number
  absl::flat_hash_map<VolumeId, Place> volumes;
  std::unordered_map<char, Place> drives;
};

struct NodeState {
  std::string bios_serial_number;
  // The time from the creation of a partition to the arrival of its volume.
  absl::Duration volume_arrival_delay;
  // Counts volumes, so that volume ids are never reused.
  uint64_t volumes_made = 0;
  std::vector<Disk> disks;
  std::vector<SmbServer> smb_servers;
  std::vector<SmbMappingState> smb_mappings;
  std::vector<IscsiPortalState> iscsi_portals;
  Secret iscsi_mutual_chap_secret;
  std::vector<Service> services;
  std::vector<FaultRule> faults;
  Behaviour behaviour;
  std::vector<OtherOpen> other_opens;
  // If unset, the cloud attaches every disk without a delay, as AttachDisk requests it.
  std::optional<Attach> attach;
  DeviceIndex device_index;
};

}  // namespace csi_proxy::machine::simulator

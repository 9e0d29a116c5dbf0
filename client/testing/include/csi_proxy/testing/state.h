// The state of a simulated node, for the assertions of a driver's tests: the fields of
// server/simulator/node.proto that tests need, without protobuf.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace csi_proxy::simulated_node {

enum class FileKind { kDirectory, kFile, kLink, kJunction };

// An entry of a volume or of a share. The list may omit a directory that contains entries.
struct File {
  // Relative to the root of the volume or share: `var\lib\kubelet`.
  std::string path = {};
  FileKind kind = FileKind::kDirectory;
  uint64_t size_bytes = 0;
  bool read_only = false;
  // The target of a link or a junction.
  std::string target = {};
  // The volume mounted at a directory. `dangling` is true if the volume no longer exists.
  std::string mounted_volume_id = {};
  bool dangling = false;
};

struct Volume {
  // `\\?\Volume{guid}\`.
  std::string id = {};
  // `NTFS`, `ReFS`, `FAT32` or `exFAT`; empty if the volume is not formatted.
  std::string file_system = {};
  std::string drive_letter = {};
  std::vector<File> files = {};
};

enum class PartitionType { kBasic, kMicrosoftReserved, kEfiSystem };

struct Partition {
  uint32_t number = 0;
  PartitionType type = PartitionType::kBasic;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  std::optional<Volume> volume = std::nullopt;
};

enum class PartitionStyle { kRaw, kMbr, kGpt };

struct Disk {
  uint32_t number = 0;
  uint64_t size_bytes = 0;
  // The hardware's size if Windows has not noticed yet that the disk has grown, otherwise 0.
  uint64_t grown_size_bytes = 0;
  // In Windows' form: `Integrated : Adapter 0 : Port 0 : Target 1 : LUN 0`.
  std::string location = {};
  std::string page83 = {};
  std::string serial_number = {};
  PartitionStyle style = PartitionStyle::kRaw;
  bool offline = false;
  bool read_only = false;
  // True until a rescan shows the disk to Windows.
  bool awaits_rescan = false;
  std::vector<Partition> partitions = {};
};

struct SmbMapping {
  // `\\host\share`, in lower case.
  std::string remote_path = {};
  std::string username = {};
  // True if the mapping cannot be read.
  bool broken = false;
};

struct IscsiTarget {
  std::string iqn = {};
  bool connected = false;
  // The node has these disks while the target is connected.
  std::vector<Disk> disks = {};
};

struct IscsiPortal {
  std::string address = {};
  uint32_t port = 0;
  // True if the portal is registered with the node's initiator.
  bool registered = false;
  std::vector<IscsiTarget> targets = {};
};

struct Service {
  std::string name = {};
  bool running = false;
};

struct State {
  std::string bios_serial_number = {};
  std::vector<Disk> disks = {};
  std::vector<SmbMapping> smb_mappings = {};
  std::vector<IscsiPortal> iscsi_portals = {};
  std::vector<Service> services = {};

  // Return null if the object does not exist. A target's disks exist while the target is connected,
  // and a disk's volumes while the disk is online.
  const Disk* FindDisk(uint32_t number) const;
  const Volume* FindVolume(absl::string_view id) const;
  const SmbMapping* FindMapping(absl::string_view share) const;

  // Returns the entry at a path of a drive, or nullopt. Follows links and mounts, except in the
  // last component. Accepts the kubelet's spelling: `/var/lib/kubelet` is on `C:`.
  std::optional<File> At(absl::string_view path) const;
  // Returns the id of the volume that is mounted at a path, after following all links. Returns ""
  // if no volume is mounted there, if the path is the root of a drive, or if the disk of the volume
  // is missing or offline.
  std::string MountedAt(absl::string_view path) const;
};

}  // namespace csi_proxy::simulated_node

// A volume's way from a raw disk to a pod's directory and back, through csi-proxy: the part of the
// driver that a Windows driver has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/connection.h"
#include "csi_proxy/disk/v1/client.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/volume/v1/client.h"

namespace csi_proxy::sample_driver {

struct VolumeUse {
  int64_t total_bytes = 0;
  int64_t used_bytes = 0;
};

// Thread-safe, but for calls with one serial number. Each call finds out what is done already, and
// does the rest. Disks are known by their serial numbers; NOT_FOUND when there is no such disk.
// Paths may have slashes of either kind.
class Mounter {
 public:
  // Remote or embedded, nothing in this class differs.
  explicit Mounter(const std::shared_ptr<Connection>& connection);

  // OK when the node can be asked about its disks.
  absl::Status Check(const CallOptions& call);

  // Mounts the disk's volume at the directory `path`. Partitions, formats and grows it first if
  // need be.
  absl::Status Stage(const std::string& serial, const std::string& path, const CallOptions& call);

  // Flushes the volume, unmounts it from `path`, takes the directory away and the disk offline.
  // FAILED_PRECONDITION when another volume is mounted there.
  absl::Status Unstage(const std::string& serial, const std::string& path, const CallOptions& call);

  // Makes a link at `target` to the volume at `staging`. FAILED_PRECONDITION when it is not staged
  // there; ALREADY_EXISTS when another volume is at `target`.
  absl::Status Publish(const std::string& serial, const std::string& staging,
                       const std::string& target, const CallOptions& call);

  // Takes the link away. FAILED_PRECONDITION when `target` is a directory with something in it.
  absl::Status Unpublish(const std::string& target, const CallOptions& call);

  // Grows the volume at `path` to what the disk has room for; the size of the disk. NOT_FOUND when
  // the volume is not there.
  absl::StatusOr<int64_t> Expand(const std::string& serial, const std::string& path,
                                 const CallOptions& call);

  // Tells how full the volume at `path` is. NOT_FOUND when it is not there.
  absl::StatusOr<VolumeUse> Measure(const std::string& serial, const std::string& path,
                                    const CallOptions& call);

 private:
  absl::StatusOr<uint32_t> FindDisk(const std::string& serial, const CallOptions& call);
  // The volume of the disk's only basic partition.
  absl::StatusOr<std::string> FirstVolume(uint32_t disk, const CallOptions& call);
  // The volume that `path` leads to; NOT_FOUND when it leads to none.
  absl::StatusOr<std::string> VolumeAt(const std::string& path, const CallOptions& call);
  // The same; NOT_FOUND when it is not of this disk.
  absl::StatusOr<std::string> VolumeOfDiskAt(const std::string& serial, const std::string& path,
                                             const CallOptions& call);
  absl::StatusOr<uint32_t> DiskOf(const std::string& volume, const CallOptions& call);
  absl::StatusOr<bool> Exists(const std::string& path, const CallOptions& call);
  absl::Status SetOnline(uint32_t disk, bool online, const CallOptions& call);
  // Removes neither the contents of a directory nor the target of a link. A missing path is fine.
  absl::Status Remove(const std::string& path, const CallOptions& call);

  const disk::v1::Client disk_;
  const volume::v1::Client volume_;
  const filesystem::v1::Client filesystem_;
};

}  // namespace csi_proxy::sample_driver

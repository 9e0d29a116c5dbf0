// Takes a volume from a raw disk to a pod's directory and back by calls to csi-proxy: the part that
// any Windows driver has.
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

namespace csi_proxy::sample {

struct VolumeUse {
  int64_t total_bytes = 0;
  int64_t used_bytes = 0;
};

// Thread-safe for calls with different serial numbers. Each call does only the steps that are not
// yet done. A disk is found by its serial number; every call returns NOT_FOUND if there is no such
// disk. Paths may use slashes of either kind.
class Mounter {
 public:
  // Works in remote and embedded mode alike.
  explicit Mounter(const std::shared_ptr<Connection>& connection);

  // Returns OK if the node answers questions about its disks.
  absl::Status Check(const CallOptions& call);

  // Mounts the disk's volume at the directory `path`. Partitions, formats and grows it first if
  // needed.
  absl::Status Stage(const std::string& serial, const std::string& path, const CallOptions& call);

  // Flushes the volume, unmounts it from `path`, removes the directory and takes the disk offline.
  // Returns FAILED_PRECONDITION if another volume is mounted there.
  absl::Status Unstage(const std::string& serial, const std::string& path, const CallOptions& call);

  // Creates a link at `target` to the volume at `staging`. Returns FAILED_PRECONDITION if the
  // volume is not staged there, ALREADY_EXISTS if another volume is at `target`.
  absl::Status Publish(const std::string& serial, const std::string& staging,
                       const std::string& target, const CallOptions& call);

  // Removes the link. Returns FAILED_PRECONDITION if `target` is a directory that is not empty.
  absl::Status Unpublish(const std::string& target, const CallOptions& call);

  // Grows the volume at `path` to the disk's size and returns that size. Returns NOT_FOUND if the
  // volume is not there.
  absl::StatusOr<int64_t> Expand(const std::string& serial, const std::string& path,
                                 const CallOptions& call);

  // Returns how full the volume at `path` is. Returns NOT_FOUND if the volume is not there.
  absl::StatusOr<VolumeUse> Measure(const std::string& serial, const std::string& path,
                                    const CallOptions& call);

 private:
  absl::StatusOr<uint32_t> FindDisk(const std::string& serial, const CallOptions& call);
  // Returns the volume of the disk's only basic partition.
  absl::StatusOr<std::string> FirstVolume(uint32_t disk, const CallOptions& call);
  // Returns the volume that `path` leads to, or NOT_FOUND if it leads to none.
  absl::StatusOr<std::string> VolumeAt(const std::string& path, const CallOptions& call);
  // Returns VolumeAt(path), or NOT_FOUND if that volume is not on this disk.
  absl::StatusOr<std::string> VolumeOfDiskAt(const std::string& serial, const std::string& path,
                                             const CallOptions& call);
  absl::StatusOr<uint32_t> DiskOf(const std::string& volume, const CallOptions& call);
  absl::StatusOr<bool> Exists(const std::string& path, const CallOptions& call);
  absl::Status SetOnline(uint32_t disk, bool online, const CallOptions& call);
  // Removes a link or an empty directory. Succeeds if the path does not exist.
  absl::Status Remove(const std::string& path, const CallOptions& call);

  const disk::v1::Client disk_;
  const volume::v1::Client volume_;
  const filesystem::v1::Client filesystem_;
};

}  // namespace csi_proxy::sample

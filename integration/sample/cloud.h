// The cloud that provides the disks, implemented by calls of the simulated node's admin service.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/connection.h"

namespace csi_proxy {
class SimulatedNode;
}

namespace csi_proxy::sample {

struct CloudDisk {
  std::string volume_id;
  uint32_t number = 0;
  int64_t size_bytes = 0;
};

// Creates, finds, grows and deletes disks. A disk's serial number is its volume's id, as on AWS, so
// the driver stores nothing itself. A disk is attached to the node for its whole life. Thread-safe.
class Cloud {
 public:
  // Returns the cloud of the node that clients with `options` use. `embedded` is the node of this
  // process, used in embedded mode.
  static std::unique_ptr<Cloud> Of(const ClientOptions& options, const SimulatedNode& embedded);
  virtual ~Cloud() = default;

  // Returns the id of the volume called `name`; the same name always gives the same id.
  static std::string VolumeIdOf(const std::string& name);
  // Returns true if `text` has the form of an id.
  static bool IsVolumeId(const std::string& text);

  // Returns all disks, sorted by id.
  absl::StatusOr<std::vector<CloudDisk>> List();
  // Returns NOT_FOUND if there is no such disk.
  absl::StatusOr<CloudDisk> Find(const std::string& volume_id);
  // Attaches a new disk, which the node sees after a rescan.
  absl::Status Create(const std::string& volume_id, int64_t size_bytes);
  // Deletes the disk and its data. Succeeds if the disk does not exist.
  absl::Status Delete(const std::string& volume_id);
  // Grows the disk, which the node sees after a rescan. Returns NOT_FOUND if there is no such disk.
  absl::Status Grow(const std::string& volume_id, int64_t size_bytes);

 private:
  virtual absl::Status Administer(const std::string& method,
                                  const google::protobuf::Message& request,
                                  google::protobuf::Message* response) = 0;
};

}  // namespace csi_proxy::sample

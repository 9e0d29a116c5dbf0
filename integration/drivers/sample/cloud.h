// The cloud whose disks the volumes are, played by the simulated node's administrator.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/connection.h"
#include "csi_proxy/testing/node.h"

namespace csi_proxy::sample_driver {

struct CloudDisk {
  std::string volume_id;
  uint32_t number = 0;
  int64_t size_bytes = 0;
};

// Thread-safe. A disk's serial number is its volume's id, as it is on AWS; so the cloud itself
// knows all there is to know of a volume. Disks are attached to the node as long as they exist.
class Cloud {
 public:
  // The cloud of the node that clients with `options`, remote or embedded, act on; `embedded` is
  // the one of this process.
  static std::unique_ptr<Cloud> Of(const ClientOptions& options, const SimulatedNode& embedded);
  virtual ~Cloud() = default;

  // The id of the volume called `name`: the same whenever it is asked for.
  static std::string VolumeIdOf(const std::string& name);
  // Tells whether `text` is such an id.
  static bool IsVolumeId(const std::string& text);

  // In the order of their ids.
  absl::StatusOr<std::vector<CloudDisk>> List();
  // NOT_FOUND.
  absl::StatusOr<CloudDisk> Find(const std::string& volume_id);
  // The node sees it after a rescan.
  absl::Status Create(const std::string& volume_id, int64_t size_bytes);
  // The data on it is lost. A disk that does not exist is fine.
  absl::Status Delete(const std::string& volume_id);
  // To `size_bytes`, which the node sees after a rescan. NOT_FOUND.
  absl::Status Grow(const std::string& volume_id, int64_t size_bytes);

 private:
  // Calls a method of server/simulator/admin.proto.
  virtual absl::Status Administer(const std::string& method,
                                  const google::protobuf::Message& request,
                                  google::protobuf::Message* response) = 0;
};

}  // namespace csi_proxy::sample_driver

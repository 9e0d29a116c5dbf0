// CSI's services of the driver, and what they share.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/call_options.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "integration/sample/cloud.h"
#include "integration/sample/csi.pb.h"
#include "integration/sample/mounter.h"

namespace csi_proxy::sample {

// Converts a status to gRPC's. absl's codes equal gRPC's, which include CSI's.
inline grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

// Returns options with which calls to csi-proxy share the deadline of the rpc.
inline CallOptions WithDeadlineOf(const grpc::ServerContext& context) {
  // The limit if the caller sets no deadline. Formatting may take long.
  constexpr absl::Duration kLongest = absl::Minutes(10);
  const absl::Duration left = absl::FromChrono(context.deadline()) - absl::Now();
  return {.timeout = std::clamp(left, absl::Milliseconds(1), kLongest)};
}

// Returns INVALID_ARGUMENT if `value` is empty; `field` is its name in the request.
inline absl::Status Require(const char* field, const std::string& value) {
  if (!value.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": is missing"));
}

// Allows one operation at a time for each volume. Orchestrators try to do the same, but may lose
// track and call again; the plugin must then refuse
// (https://github.com/container-storage-interface/spec/blob/v1.13.0/spec.md#concurrency).
// Thread-safe.
class VolumeLocks {
 public:
  // Locks the volume until the result is destroyed. Returns ABORTED if it is locked.
  absl::StatusOr<std::shared_ptr<void>> Acquire(const std::string& volume_id) {
    std::lock_guard lock(mutex_);
    if (!held_.insert(volume_id).second) {
      return absl::AbortedError(
          absl::StrCat("volume ", volume_id, ": another operation on it is under way"));
    }
    return std::shared_ptr<void>(this, [this, volume_id](void*) {
      std::lock_guard lock(mutex_);
      held_.erase(volume_id);
    });
  }

 private:
  std::mutex mutex_;
  std::unordered_set<std::string> held_;
};

// Accepts a directory with NTFS used by one node. Otherwise returns INVALID_ARGUMENT with the
// unsupported part.
absl::Status CheckCapability(const csi::v1::VolumeCapability& capability);

// Checks every capability. Returns INVALID_ARGUMENT if there is none.
absl::Status CheckCapabilities(
    const google::protobuf::RepeatedPtrField<csi::v1::VolumeCapability>& capabilities);

// Returns the topology of a volume, which can be reached only from the node that its disk is
// attached to.
inline csi::v1::Topology TopologyOf(const std::string& node_id) {
  csi::v1::Topology topology;
  (*topology.mutable_segments())["topology.sample.csi-proxy.example/node"] = node_id;
  return topology;
}

std::unique_ptr<grpc::Service> NewIdentityService(Mounter* mounter);

// Returns csi.v1.Controller, which creates, grows and deletes volumes by the cloud alone, without
// csi-proxy. `capacity` is the number of bytes for all volumes together. `locks` is shared with the
// node service.
std::unique_ptr<grpc::Service> NewControllerService(Cloud* cloud, VolumeLocks* locks,
                                                    std::string node_id, int64_t capacity);

// Returns csi.v1.Node, which checks requests and passes them to the mounter.
std::unique_ptr<grpc::Service> NewNodeService(Mounter* mounter, VolumeLocks* locks,
                                              std::string node_id);

// Returns v1.Filesystem, which passes to `client` the calls that create, find and remove
// directories. In embedded mode the node is in the driver's memory, and a test sees its directories
// through this service.
std::unique_ptr<grpc::Service> NewFilesystemPipe(filesystem::v1::Client client);

}  // namespace csi_proxy::sample

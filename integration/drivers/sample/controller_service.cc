#include "integration/drivers/sample/controller_service.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration/drivers/sample/capability.h"
#include "integration/drivers/sample/rpc.h"

namespace csi_proxy::sample_driver {
namespace {

using csi::v1::ControllerServiceCapability;
using google::protobuf::util::MessageDifferencer;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kDefaultBytes = 1024 * kMiB;
// Leaves room for the partition table and NTFS's own data.
constexpr int64_t kMinBytes = 64 * kMiB;

// Returns a size in the range, in whole MiB. Returns OUT_OF_RANGE if there is none.
absl::StatusOr<int64_t> SizeOf(const csi::v1::CapacityRange& range, int64_t when_unset) {
  const auto refuse = [&](const char* why) {
    return absl::OutOfRangeError(absl::StrCat("capacity_range: ", range.required_bytes(), " to ",
                                              range.limit_bytes(), " bytes: ", why));
  };
  if (range.required_bytes() < 0 || range.limit_bytes() < 0) return refuse("is negative");
  constexpr int64_t kMaxBytes = int64_t{1} << 50;
  if (range.required_bytes() > kMaxBytes) return refuse("there are no such disks");
  int64_t size = range.required_bytes() != 0 ? range.required_bytes() : when_unset;
  size = (std::max(size, kMinBytes) + kMiB - 1) / kMiB * kMiB;
  if (range.limit_bytes() == 0 || size <= range.limit_bytes()) return size;
  if (range.required_bytes() == 0 && range.limit_bytes() >= kMinBytes) {
    return range.limit_bytes() / kMiB * kMiB;
  }
  return refuse("no whole number of MiB, from 64, is in it");
}

bool IsWithin(int64_t size, const csi::v1::CapacityRange& range) {
  return size >= range.required_bytes() &&
         (range.limit_bytes() == 0 || size <= range.limit_bytes());
}

}  // namespace

absl::StatusOr<CloudDisk> ControllerService::Create(const csi::v1::CreateVolumeRequest& request) {
  if (absl::Status s = Require("name", request.name()); !s.ok()) return s;
  if (absl::Status s = CheckCapabilities(request.volume_capabilities()); !s.ok()) return s;
  if (request.has_volume_content_source()) {
    return absl::InvalidArgumentError("volume_content_source: there are no snapshots and clones");
  }
  if (!request.parameters().empty() || !request.mutable_parameters().empty()) {
    return absl::InvalidArgumentError("parameters: there are none");
  }
  const auto& requisite = request.accessibility_requirements().requisite();
  const bool reachable =
      requisite.empty() || std::any_of(requisite.begin(), requisite.end(), [&](const auto& place) {
        return MessageDifferencer::Equals(place, TopologyOf(node_id_));
      });
  if (!reachable) {
    return absl::ResourceExhaustedError(
        absl::StrCat("accessibility_requirements: the only node is ", node_id_));
  }
  const absl::StatusOr<int64_t> size = SizeOf(request.capacity_range(), kDefaultBytes);
  if (!size.ok()) return size.status();

  const std::string id = Cloud::VolumeIdOf(request.name());
  const auto lock = locks_->Acquire(id);
  if (!lock.ok()) return lock.status();
  const absl::StatusOr<CloudDisk> there = cloud_->Find(id);
  if (there.ok() && IsWithin(there->size_bytes, request.capacity_range())) return there;
  if (there.ok()) {
    return absl::AlreadyExistsError(absl::StrCat("capacity_range: volume ", request.name(),
                                                 " exists with ", there->size_bytes, " bytes"));
  }
  if (!absl::IsNotFound(there.status())) return there;
  const absl::StatusOr<int64_t> free = FreeBytes();
  if (!free.ok()) return free.status();
  if (*size > *free) {
    return absl::ResourceExhaustedError(
        absl::StrCat("capacity_range: of ", *size, " bytes ", *free, " are left"));
  }
  if (absl::Status s = cloud_->Create(id, *size); !s.ok()) return s;
  return CloudDisk{.volume_id = id, .size_bytes = *size};
}

absl::Status ControllerService::Delete(const csi::v1::DeleteVolumeRequest& request) {
  if (absl::Status s = Require("volume_id", request.volume_id()); !s.ok()) return s;
  const auto lock = locks_->Acquire(request.volume_id());
  if (!lock.ok()) return lock.status();
  return cloud_->Delete(request.volume_id());
}

absl::Status ControllerService::Validate(const csi::v1::ValidateVolumeCapabilitiesRequest& request,
                                         csi::v1::ValidateVolumeCapabilitiesResponse* response) {
  if (absl::Status s = Require("volume_id", request.volume_id()); !s.ok()) return s;
  if (request.volume_capabilities().empty()) {
    return absl::InvalidArgumentError("volume_capabilities: is missing");
  }
  const absl::StatusOr<CloudDisk> disk = cloud_->Find(request.volume_id());
  if (!disk.ok()) return disk.status();
  absl::Status supported = CheckCapabilities(request.volume_capabilities());
  if (!request.volume_context().empty() || !request.parameters().empty() ||
      !request.mutable_parameters().empty()) {
    supported = absl::InvalidArgumentError("volume_context, parameters: there are none");
  }
  if (supported.ok()) {
    *response->mutable_confirmed()->mutable_volume_capabilities() = request.volume_capabilities();
  } else {
    response->set_message(std::string(supported.message()));
  }
  return absl::OkStatus();
}

absl::Status ControllerService::List(const csi::v1::ListVolumesRequest& request,
                                     csi::v1::ListVolumesResponse* response) {
  if (request.max_entries() < 0) return absl::InvalidArgumentError("max_entries: is negative");
  // A token is the last id returned. Its volume may have been deleted.
  const std::string& after = request.starting_token();
  if (!after.empty() && !Cloud::IsVolumeId(after)) {
    return absl::AbortedError("starting_token: is not one of this plugin's");
  }
  const absl::StatusOr<std::vector<CloudDisk>> disks = cloud_->List();
  if (!disks.ok()) return disks.status();
  for (const CloudDisk& disk : *disks) {
    if (disk.volume_id <= after) continue;
    if (request.max_entries() != 0 && response->entries_size() == request.max_entries()) {
      response->set_next_token(response->entries().rbegin()->volume().volume_id());
      break;
    }
    Describe(disk, response->add_entries()->mutable_volume());
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> ControllerService::Expand(
    const csi::v1::ControllerExpandVolumeRequest& request) {
  if (absl::Status s = Require("volume_id", request.volume_id()); !s.ok()) return s;
  if (!request.has_capacity_range()) {
    return absl::InvalidArgumentError("capacity_range: is missing");
  }
  if (request.has_volume_capability()) {
    if (absl::Status s = CheckCapability(request.volume_capability()); !s.ok()) return s;
  }
  const auto lock = locks_->Acquire(request.volume_id());
  if (!lock.ok()) return lock.status();
  const absl::StatusOr<CloudDisk> disk = cloud_->Find(request.volume_id());
  if (!disk.ok()) return disk.status();
  if (IsWithin(disk->size_bytes, request.capacity_range())) return disk->size_bytes;
  const absl::StatusOr<int64_t> size = SizeOf(request.capacity_range(), disk->size_bytes);
  if (!size.ok()) return size.status();
  if (*size < disk->size_bytes) {
    return absl::OutOfRangeError(absl::StrCat("capacity_range: the volume has ", disk->size_bytes,
                                              " bytes and does not shrink"));
  }
  const absl::StatusOr<int64_t> free = FreeBytes();
  if (!free.ok()) return free.status();
  if (*size - disk->size_bytes > *free) {
    return absl::ResourceExhaustedError(
        absl::StrCat("capacity_range: ", *free, " bytes are left to grow by"));
  }
  if (absl::Status s = cloud_->Grow(request.volume_id(), *size); !s.ok()) return s;
  return *size;
}

absl::StatusOr<int64_t> ControllerService::FreeBytes() {
  const absl::StatusOr<std::vector<CloudDisk>> disks = cloud_->List();
  if (!disks.ok()) return disks.status();
  int64_t free = capacity_;
  for (const CloudDisk& disk : *disks) free -= disk.size_bytes;
  return std::max<int64_t>(free, 0);
}

void ControllerService::Describe(const CloudDisk& disk, csi::v1::Volume* volume) const {
  volume->set_volume_id(disk.volume_id);
  volume->set_capacity_bytes(disk.size_bytes);
  *volume->add_accessible_topology() = TopologyOf(node_id_);
}

grpc::Status ControllerService::CreateVolume(grpc::ServerContext*,
                                             const csi::v1::CreateVolumeRequest* request,
                                             csi::v1::CreateVolumeResponse* response) {
  const absl::StatusOr<CloudDisk> disk = Create(*request);
  if (disk.ok()) Describe(*disk, response->mutable_volume());
  return ToGrpc(disk.status());
}

grpc::Status ControllerService::DeleteVolume(grpc::ServerContext*,
                                             const csi::v1::DeleteVolumeRequest* request,
                                             csi::v1::DeleteVolumeResponse*) {
  return ToGrpc(Delete(*request));
}

grpc::Status ControllerService::ValidateVolumeCapabilities(
    grpc::ServerContext*, const csi::v1::ValidateVolumeCapabilitiesRequest* request,
    csi::v1::ValidateVolumeCapabilitiesResponse* response) {
  return ToGrpc(Validate(*request, response));
}

grpc::Status ControllerService::ListVolumes(grpc::ServerContext*,
                                            const csi::v1::ListVolumesRequest* request,
                                            csi::v1::ListVolumesResponse* response) {
  return ToGrpc(List(*request, response));
}

grpc::Status ControllerService::GetCapacity(grpc::ServerContext*,
                                            const csi::v1::GetCapacityRequest* request,
                                            csi::v1::GetCapacityResponse* response) {
  const bool here =
      !request->has_accessible_topology() ||
      MessageDifferencer::Equals(request->accessible_topology(), TopologyOf(node_id_));
  const bool supported = request->volume_capabilities().empty() ||
                         CheckCapabilities(request->volume_capabilities()).ok();
  if (!here || !supported) return grpc::Status::OK;
  const absl::StatusOr<int64_t> free = FreeBytes();
  if (free.ok()) response->set_available_capacity(*free);
  return ToGrpc(free.status());
}

grpc::Status ControllerService::ControllerGetCapabilities(
    grpc::ServerContext*, const csi::v1::ControllerGetCapabilitiesRequest*,
    csi::v1::ControllerGetCapabilitiesResponse* response) {
  for (const ControllerServiceCapability::RPC::Type type :
       {ControllerServiceCapability::RPC::CREATE_DELETE_VOLUME,
        ControllerServiceCapability::RPC::LIST_VOLUMES,
        ControllerServiceCapability::RPC::GET_CAPACITY,
        ControllerServiceCapability::RPC::EXPAND_VOLUME}) {
    response->add_capabilities()->mutable_rpc()->set_type(type);
  }
  return grpc::Status::OK;
}

grpc::Status ControllerService::ControllerExpandVolume(
    grpc::ServerContext*, const csi::v1::ControllerExpandVolumeRequest* request,
    csi::v1::ControllerExpandVolumeResponse* response) {
  const absl::StatusOr<int64_t> size = Expand(*request);
  if (!size.ok()) return ToGrpc(size.status());
  response->set_capacity_bytes(*size);
  response->set_node_expansion_required(true);
  return grpc::Status::OK;
}

}  // namespace csi_proxy::sample_driver

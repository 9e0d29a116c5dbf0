#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration/sample/csi.grpc.pb.h"
#include "integration/sample/services.h"

namespace csi_proxy::sample {
namespace {

using csi::v1::ControllerServiceCapability;
using csi::v1::VolumeCapability;
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

class ControllerService final : public csi::v1::Controller::Service {
 public:
  ControllerService(Cloud* cloud, VolumeLocks* locks, std::string node_id, int64_t capacity)
      : cloud_(cloud), locks_(locks), node_id_(std::move(node_id)), capacity_(capacity) {}

 private:
  absl::StatusOr<CloudDisk> Create(const csi::v1::CreateVolumeRequest& request) {
    if (absl::Status s = Require("name", request.name()); !s.ok()) return s;
    if (absl::Status s = CheckCapabilities(request.volume_capabilities()); !s.ok()) return s;
    if (request.has_volume_content_source()) {
      return absl::InvalidArgumentError("volume_content_source: there are no snapshots and clones");
    }
    if (!request.parameters().empty() || !request.mutable_parameters().empty()) {
      return absl::InvalidArgumentError("parameters: there are none");
    }
    const auto& requisite = request.accessibility_requirements().requisite();
    const bool reachable = requisite.empty() ||
                           std::any_of(requisite.begin(), requisite.end(), [&](const auto& place) {
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

  absl::Status Delete(const csi::v1::DeleteVolumeRequest& request) {
    if (absl::Status s = Require("volume_id", request.volume_id()); !s.ok()) return s;
    const auto lock = locks_->Acquire(request.volume_id());
    if (!lock.ok()) return lock.status();
    return cloud_->Delete(request.volume_id());
  }

  absl::Status Validate(const csi::v1::ValidateVolumeCapabilitiesRequest& request,
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

  absl::Status List(const csi::v1::ListVolumesRequest& request,
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

  absl::StatusOr<int64_t> Expand(const csi::v1::ControllerExpandVolumeRequest& request) {
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

  absl::StatusOr<int64_t> FreeBytes() {
    const absl::StatusOr<std::vector<CloudDisk>> disks = cloud_->List();
    if (!disks.ok()) return disks.status();
    int64_t free = capacity_;
    for (const CloudDisk& disk : *disks) free -= disk.size_bytes;
    return std::max<int64_t>(free, 0);
  }

  void Describe(const CloudDisk& disk, csi::v1::Volume* volume) const {
    volume->set_volume_id(disk.volume_id);
    volume->set_capacity_bytes(disk.size_bytes);
    *volume->add_accessible_topology() = TopologyOf(node_id_);
  }

  grpc::Status CreateVolume(grpc::ServerContext*, const csi::v1::CreateVolumeRequest* request,
                            csi::v1::CreateVolumeResponse* response) override {
    const absl::StatusOr<CloudDisk> disk = Create(*request);
    if (disk.ok()) Describe(*disk, response->mutable_volume());
    return ToGrpc(disk.status());
  }

  grpc::Status DeleteVolume(grpc::ServerContext*, const csi::v1::DeleteVolumeRequest* request,
                            csi::v1::DeleteVolumeResponse*) override {
    return ToGrpc(Delete(*request));
  }

  grpc::Status ValidateVolumeCapabilities(
      grpc::ServerContext*, const csi::v1::ValidateVolumeCapabilitiesRequest* request,
      csi::v1::ValidateVolumeCapabilitiesResponse* response) override {
    return ToGrpc(Validate(*request, response));
  }

  grpc::Status ListVolumes(grpc::ServerContext*, const csi::v1::ListVolumesRequest* request,
                           csi::v1::ListVolumesResponse* response) override {
    return ToGrpc(List(*request, response));
  }

  grpc::Status GetCapacity(grpc::ServerContext*, const csi::v1::GetCapacityRequest* request,
                           csi::v1::GetCapacityResponse* response) override {
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

  grpc::Status ControllerGetCapabilities(
      grpc::ServerContext*, const csi::v1::ControllerGetCapabilitiesRequest*,
      csi::v1::ControllerGetCapabilitiesResponse* response) override {
    for (const ControllerServiceCapability::RPC::Type type :
         {ControllerServiceCapability::RPC::CREATE_DELETE_VOLUME,
          ControllerServiceCapability::RPC::LIST_VOLUMES,
          ControllerServiceCapability::RPC::GET_CAPACITY,
          ControllerServiceCapability::RPC::EXPAND_VOLUME}) {
      response->add_capabilities()->mutable_rpc()->set_type(type);
    }
    return grpc::Status::OK;
  }

  grpc::Status ControllerExpandVolume(grpc::ServerContext*,
                                      const csi::v1::ControllerExpandVolumeRequest* request,
                                      csi::v1::ControllerExpandVolumeResponse* response) override {
    const absl::StatusOr<int64_t> size = Expand(*request);
    if (!size.ok()) return ToGrpc(size.status());
    response->set_capacity_bytes(*size);
    response->set_node_expansion_required(true);
    return grpc::Status::OK;
  }

  Cloud* const cloud_;
  VolumeLocks* const locks_;
  const std::string node_id_;
  const int64_t capacity_;
};

}  // namespace

absl::Status CheckCapability(const VolumeCapability& capability) {
  const auto refuse = [](const std::string& why) {
    return absl::InvalidArgumentError(absl::StrCat("volume_capability: ", why));
  };
  if (!capability.has_mount()) {
    return refuse("only directories are published; Windows pods take no block devices");
  }
  const std::string& fs_type = capability.mount().fs_type();
  if (!fs_type.empty() && !absl::EqualsIgnoreCase(fs_type, "ntfs")) {
    return refuse(absl::StrCat("file system ", fs_type, ": there is NTFS only"));
  }
  if (capability.mount().mount_flags_size() != 0) return refuse("Windows has no mount flags");
  switch (capability.access_mode().mode()) {
    case VolumeCapability::AccessMode::SINGLE_NODE_WRITER:
    case VolumeCapability::AccessMode::SINGLE_NODE_READER_ONLY:
      return absl::OkStatus();
    default:
      return refuse(absl::StrCat(
          "access mode ", VolumeCapability::AccessMode::Mode_Name(capability.access_mode().mode()),
          ": a disk is attached to one node"));
  }
}

absl::Status CheckCapabilities(
    const google::protobuf::RepeatedPtrField<VolumeCapability>& capabilities) {
  if (capabilities.empty()) return absl::InvalidArgumentError("volume_capabilities: is missing");
  for (const VolumeCapability& capability : capabilities) {
    if (absl::Status s = CheckCapability(capability); !s.ok()) return s;
  }
  return absl::OkStatus();
}

std::unique_ptr<grpc::Service> NewControllerService(Cloud* cloud, VolumeLocks* locks,
                                                    std::string node_id, int64_t capacity) {
  return std::make_unique<ControllerService>(cloud, locks, std::move(node_id), capacity);
}

}  // namespace csi_proxy::sample

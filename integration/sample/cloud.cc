#include "integration/sample/cloud.h"

#include <algorithm>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "csi_proxy/testing/node.h"
#include "integration/support/node_admin.h"
#include "server/simulator/admin.pb.h"

namespace csi_proxy::sample {
namespace {

namespace simulated = csi_proxy::simulated;

// Distinguishes this driver's disks from others.
constexpr char kPrefix[] = "sample-";

// The cloud of the service's node.
class RemoteCloud final : public Cloud {
 public:
  explicit RemoteCloud(ClientOptions options) : options_(std::move(options)) {}

 private:
  absl::Status Administer(const std::string& method, const google::protobuf::Message& request,
                          google::protobuf::Message* response) override {
    return integration::CallAdminService(options_, method, request, response);
  }

  const ClientOptions options_;
};

// The cloud of the node in this process.
class EmbeddedCloud final : public Cloud {
 public:
  explicit EmbeddedCloud(SimulatedNode node) : node_(std::move(node)) {}

 private:
  absl::Status Administer(const std::string& method, const google::protobuf::Message& request,
                          google::protobuf::Message* response) override {
    const absl::StatusOr<std::string> answer =
        node_.Administer(method, request.SerializeAsString());
    if (!answer.ok()) return answer.status();
    if (response->ParseFromString(*answer)) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(method, ": the answer cannot be read"));
  }

  const SimulatedNode node_;
};

}  // namespace

std::unique_ptr<Cloud> Cloud::Of(const ClientOptions& options, const SimulatedNode& embedded) {
  if (options.mode == Mode::kRemote) return std::make_unique<RemoteCloud>(options);
  return std::make_unique<EmbeddedCloud>(embedded);
}

std::string Cloud::VolumeIdOf(const std::string& name) {
  // Hashes the name, which may be too long for an id or contain characters that serial numbers
  // cannot.
  static const boost::uuids::name_generator_sha1 generate(boost::uuids::ns::oid());
  return kPrefix + boost::uuids::to_string(generate(name));
}

bool Cloud::IsVolumeId(const std::string& text) {
  return absl::StartsWith(text, kPrefix) && text.size() == VolumeIdOf("").size();
}

absl::StatusOr<std::vector<CloudDisk>> Cloud::List() {
  simulated::DumpStateResponse state;
  if (absl::Status s = Administer("DumpState", simulated::DumpStateRequest(), &state); !s.ok()) {
    return s;
  }
  std::vector<CloudDisk> disks;
  for (const simulated::Disk& disk : state.node().disk()) {
    if (!IsVolumeId(disk.serial_number())) continue;
    const uint64_t size = std::max(disk.size_bytes(), disk.grown_size_bytes());
    disks.push_back({disk.serial_number(), disk.number(), static_cast<int64_t>(size)});
  }
  std::sort(disks.begin(), disks.end(),
            [](const CloudDisk& a, const CloudDisk& b) { return a.volume_id < b.volume_id; });
  return disks;
}

absl::StatusOr<CloudDisk> Cloud::Find(const std::string& volume_id) {
  absl::StatusOr<std::vector<CloudDisk>> disks = List();
  if (!disks.ok()) return disks.status();
  for (CloudDisk& disk : *disks) {
    if (disk.volume_id == volume_id) return std::move(disk);
  }
  return absl::NotFoundError(absl::StrCat("volume_id: there is no volume ", volume_id));
}

absl::Status Cloud::Create(const std::string& volume_id, int64_t size_bytes) {
  simulated::AttachDiskRequest request;
  request.set_choose_number(true);
  request.mutable_disk()->set_serial_number(volume_id);
  request.mutable_disk()->set_size_bytes(static_cast<uint64_t>(size_bytes));
  request.mutable_disk()->set_awaits_rescan(true);
  simulated::AttachDiskResponse response;
  return Administer("AttachDisk", request, &response);
}

absl::Status Cloud::Delete(const std::string& volume_id) {
  const absl::StatusOr<CloudDisk> disk = Find(volume_id);
  if (absl::IsNotFound(disk.status())) return absl::OkStatus();
  if (!disk.ok()) return disk.status();
  simulated::DetachDiskRequest request;
  request.set_disk_number(disk->number);
  simulated::DetachDiskResponse response;
  return Administer("DetachDisk", request, &response);
}

absl::Status Cloud::Grow(const std::string& volume_id, int64_t size_bytes) {
  const absl::StatusOr<CloudDisk> disk = Find(volume_id);
  if (!disk.ok()) return disk.status();
  simulated::GrowDiskRequest request;
  request.set_disk_number(disk->number);
  request.set_size_bytes(static_cast<uint64_t>(size_bytes));
  simulated::GrowDiskResponse response;
  return Administer("GrowDisk", request, &response);
}

}  // namespace csi_proxy::sample

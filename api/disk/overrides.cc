// Converts DiskIDs of disk v1beta1 and v1beta2, a map, to the two fields of later versions.
#include "absl/status/status.h"
#include "csi_proxy/disk/v1beta1/convert.h"
#include "csi_proxy/disk/v1beta2/convert.h"

namespace csi_proxy::disk {
namespace {

constexpr char kPage83[] = "page83";
constexpr char kSerialNumber[] = "serialNumber";

template <typename Version>
absl::Status FromMap(const Version& in, DiskIDs* out) {
  for (const auto& [kind, identifier] : in.identifiers()) {
    if (kind == kPage83) {
      out->page83 = identifier;
    } else if (kind == kSerialNumber) {
      out->serial_number = identifier;
    } else {
      return absl::InvalidArgumentError("identifiers: there are page83 and serialNumber, no other");
    }
  }
  return absl::OkStatus();
}

// Sends both keys always, because drivers read the map without checking for them.
template <typename Version>
absl::Status ToMap(const DiskIDs& in, Version* out) {
  (*out->mutable_identifiers())[kPage83] = in.page83;
  (*out->mutable_identifiers())[kSerialNumber] = in.serial_number;
  return absl::OkStatus();
}

}  // namespace

namespace v1beta1 {
absl::Status ToHub(const ::v1beta1::DiskIDs& in, disk::DiskIDs* out) { return FromMap(in, out); }
absl::Status FromHub(const disk::DiskIDs& in, ::v1beta1::DiskIDs* out) { return ToMap(in, out); }
}  // namespace v1beta1

namespace v1beta2 {
absl::Status ToHub(const ::v1beta2::DiskIDs& in, disk::DiskIDs* out) { return FromMap(in, out); }
absl::Status FromHub(const disk::DiskIDs& in, ::v1beta2::DiskIDs* out) { return ToMap(in, out); }
}  // namespace v1beta2

}  // namespace csi_proxy::disk

// Converts Label of v1alpha1, a map, to the hub's two fields.
#include "csi_proxy/garden/v1alpha1/convert.h"

namespace csi_proxy::garden::v1alpha1 {

absl::Status ToHub(const ::v1alpha1::Label& in, garden::Label* out) {
  for (const auto& [language, name] : in.names()) {
    (language == "latin" ? out->latin : out->common) = name;
  }
  return absl::OkStatus();
}

absl::Status FromHub(const garden::Label& in, ::v1alpha1::Label* out) {
  (*out->mutable_names())["common"] = in.common;
  (*out->mutable_names())["latin"] = in.latin;
  return absl::OkStatus();
}

}  // namespace csi_proxy::garden::v1alpha1

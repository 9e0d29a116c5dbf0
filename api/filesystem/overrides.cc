// Gives the paths of LinkPath, of filesystem v1alpha1 and v1beta1, the contexts of the Go release
// v0.2.2
// (https://github.com/kubernetes-csi/csi-proxy/blob/v0.2.2/internal/server/filesystem/server.go).
#include "absl/status/status.h"
#include "csi_proxy/filesystem/v1alpha1/convert.h"
#include "csi_proxy/filesystem/v1beta1/convert.h"

namespace csi_proxy::filesystem {
namespace {

using Hub = CreateSymlinkRequest;

template <typename Version>
absl::Status AddContexts(const Version& in, Hub* out) {
  *out = {in.source_path(), in.target_path(), PathContext::kPlugin, PathContext::kPod};
  return absl::OkStatus();
}

template <typename Version>
absl::Status DropContexts(const Hub& in, Version* out) {
  out->set_source_path(in.source_path);
  out->set_target_path(in.target_path);
  return absl::OkStatus();
}

}  // namespace

namespace v1alpha1 {
using Request = ::v1alpha1::LinkPathRequest;
absl::Status ToHub(const Request& in, Hub* out) { return AddContexts(in, out); }
absl::Status FromHub(const Hub& in, Request* out) { return DropContexts(in, out); }
}  // namespace v1alpha1

namespace v1beta1 {
using Request = ::v1beta1::LinkPathRequest;
absl::Status ToHub(const Request& in, Hub* out) { return AddContexts(in, out); }
absl::Status FromHub(const Hub& in, Request* out) { return DropContexts(in, out); }
}  // namespace v1beta1

}  // namespace csi_proxy::filesystem

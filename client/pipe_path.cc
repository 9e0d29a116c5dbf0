#include "client/pipe_path.h"

#include "absl/strings/str_cat.h"

namespace csi_proxy::client {

std::string PipePath(const ClientOptions& options, absl::string_view group,
                     absl::string_view version) {
  return PipePath(options, absl::StrCat("csi-proxy-", group, "-", version));
}

}  // namespace csi_proxy::client

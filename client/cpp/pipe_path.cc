#include "client/cpp/pipe_path.h"

#include "server/base/pipe_name.h"

namespace csi_proxy::client {

std::string PipePath(const ClientOptions& options, absl::string_view group,
                     absl::string_view version) {
  return PipePath(options, PipeName(group, version));
}

}  // namespace csi_proxy::client

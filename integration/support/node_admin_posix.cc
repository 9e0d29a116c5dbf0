#include "integration/support/node_admin.h"

namespace csi_proxy::integration {

absl::Status CallDoublesAdmin(const ClientOptions& options, const std::string& method,
                              const google::protobuf::Message& request,
                              google::protobuf::Message* response) {
  return CallAdminService(options, method, request, response);
}

}  // namespace csi_proxy::integration

#include "integration/support/node_admin.h"

#include "client/cpp/pipe_path.h"
#include "client/cpp/remote_channel.h"

namespace csi_proxy::integration {

absl::Status CallAdminService(const ClientOptions& options, const std::string& method,
                              const google::protobuf::Message& request,
                              google::protobuf::Message* response) {
  const auto channel =
      client::RemoteChannel::OpenPath(options, client::PipePath(options, "csi-proxy-admin"));
  if (!channel.ok()) return channel.status();
  const std::string path = "/csi_proxy.simulated.Admin/" + method;
  return (*channel)->Call(path.c_str(), client::MakeCallContext({}, {}), request, response);
}

}  // namespace csi_proxy::integration

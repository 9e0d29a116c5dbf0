// The pipes of this machine. In a file of its own, because gRPC includes Windows headers, which
// redefine names such as GetMessage.
#include <map>

#include "client/cpp/pipe_path.h"
#include "client/cpp/remote_channel.h"
#include "client/ctl/rpcs.h"
#include "server/base/status_macros.h"

namespace csi_proxy::ctl {
namespace {

class RemotePipes final : public Pipes {
 public:
  RemotePipes(const ClientOptions& options, const CallOptions& call)
      : options_(options), call_(call) {}

  bool Exists(const std::string& group, const std::string& version) override {
    return client::PipeExists(client::PipePath(options_, group, version));
  }

  PipeReport Examine(const std::string& group, const std::string& version) override {
    return ctl::Examine(options_, call_, group, version);
  }

  absl::Status Send(const Method& method, const pb::Message& request,
                    pb::Message* response) override {
    std::shared_ptr<client::RemoteChannel>& channel = channels_[{method.group, method.version}];
    if (channel == nullptr) {
      ABSL_ASSIGN_OR_RETURN(auto opened,
                            client::RemoteChannel::Open(options_, method.group, method.version));
      channel = std::move(opened);
    }
    return channel->Call(method.path().c_str(), client::MakeCallContext(call_, {}), request,
                         response);
  }

 private:
  const ClientOptions options_;
  const CallOptions call_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<client::RemoteChannel>> channels_;
};

}  // namespace

std::unique_ptr<Pipes> NewRemotePipes(const ClientOptions& options, const CallOptions& call) {
  return std::make_unique<RemotePipes>(options, call);
}

}  // namespace csi_proxy::ctl

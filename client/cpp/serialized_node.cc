#include "client/cpp/serialized_node.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/own_node.h"
#include "csi_proxy/all_served_versions.h"
#include "server/calls/call.h"
#include "server/platform/peer_process.h"

namespace csi_proxy::client {
namespace {

// Returns the limits for nodes that this library did not make: too high to have an effect.
const rpc::CallDeps* WithoutLimits() {
  static const auto* const calls =
      new rpc::CallDeps{.executor = new rpc::Executor({.max_threads = 1 << 20, .max_queued = 0}),
                        .own_process = OwnProcess()};
  return calls;
}

}  // namespace

std::vector<OpenVersion> OpenVersions(Node& node) {
  std::vector<OpenVersion> open;
  const auto add = [&open, &node](const char* group, const auto& versions, auto* service) {
    const rpc::CallDeps* const own = OwnNode::CallsOf(node, group);
    const rpc::CallDeps* const calls = own != nullptr ? own : WithoutLimits();
    for (const auto* version : versions) {
      open.push_back({group, version->name, version->open(service, calls), version->methods});
    }
  };
#define ADD_GROUP(group) add(#group, group::ServedVersions(), &node.group());
  CSI_PROXY_FOR_EACH_GROUP(ADD_GROUP)
#undef ADD_GROUP
  return open;
}

SerializedNode::SerializedNode(std::shared_ptr<Node> node)
    : node_(std::move(node)), versions_(OpenVersions(*node_)) {
  for (const OpenVersion& version : versions_) {
    for (const rpc::UnaryMethod& method : version.methods) {
      rows_.emplace(method.info->path, Row{&method, version.api.get()});
    }
  }
}

absl::Status SerializedNode::Call(absl::string_view path, const CallContext& context,
                                  absl::string_view bytes, std::string* response) const {
  const auto row = rows_.find(path);
  if (row == rows_.end()) {
    return absl::UnimplementedError(absl::StrCat("there is no method ", path));
  }
  const bool is_short = bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max());
  google::protobuf::io::ArrayInputStream request(bytes.data(),
                                                 is_short ? static_cast<int>(bytes.size()) : 0);
  return rpc::CallWithBytes(*row->second.method, row->second.api, context,
                            is_short ? &request : nullptr,
                            [&](const google::protobuf::MessageLite& answer) {
                              *response = answer.SerializeAsString();
                              return absl::OkStatus();
                            });
}

}  // namespace csi_proxy::client

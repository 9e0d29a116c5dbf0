#include "client/cpp/serialized_node.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/own_node.h"
#include "csi_proxy/all_served_versions.h"
#include "server/rpc/call_limiter.h"

namespace csi_proxy::client {
namespace {

using google::protobuf::MessageLite;

// Returns the limiter for nodes that this library did not make, which sets no limits.
rpc::CallLimiter* WithoutLimits() {
  static auto* const calls = new rpc::CallLimiter({.max_threads = SIZE_MAX, .max_queued = 0}, {},
                                                  absl::InfiniteDuration());
  return calls;
}

}  // namespace

std::vector<OpenVersion> OpenVersions(Node& node) {
  std::vector<OpenVersion> open;
  const auto add = [&open, &node](const char* group, const auto& versions, auto* service) {
    rpc::CallLimiter* const own = OwnNode::CallsOf(node, group);
    rpc::CallLimiter* const calls = own != nullptr ? own : WithoutLimits();
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
  const rpc::UnaryMethod& method = *row->second.method;
  const std::unique_ptr<MessageLite> message(method.request().New());
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request is not a ", message->GetTypeName()));
  }
  const std::unique_ptr<MessageLite> answer(method.response().New());
  const absl::Status status = method.call(row->second.api, context, *message, answer.get());
  if (!status.ok()) return status;
  *response = answer->SerializeAsString();
  return absl::OkStatus();
}

}  // namespace csi_proxy::client

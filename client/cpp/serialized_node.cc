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

// For a node that somebody else made, which sets no limits.
rpc::CallLimiter* WithoutLimits() {
  static auto* const calls = new rpc::CallLimiter({.max_threads = SIZE_MAX, .max_queued = 0}, {},
                                                  absl::InfiniteDuration());
  return calls;
}

// Shows `visit(group, versions, service)` each group of the node.
template <typename Visit>
void ForEachGroup(Node& node, const Visit& visit) {
#define VISIT_GROUP(group) visit(#group, group::ServedVersions(), &node.group());
  CSI_PROXY_FOR_EACH_GROUP(VISIT_GROUP)
#undef VISIT_GROUP
}

rpc::CallLimiter* CallsOf(Node& node, absl::string_view group) {
  rpc::CallLimiter* const calls = OwnNode::CallsOf(node, group);
  return calls != nullptr ? calls : WithoutLimits();
}

}  // namespace

absl::StatusOr<std::shared_ptr<void>> OpenEmbedded(std::shared_ptr<Node> node,
                                                   absl::string_view group,
                                                   absl::string_view version) {
  std::shared_ptr<void> api;
  ForEachGroup(*node, [&](const char* name, const auto& versions, auto* service) {
    if (group != name) return;
    for (const auto* candidate : versions) {
      if (version == candidate->name) api = candidate->open(service, CallsOf(*node, group));
    }
  });
  if (api == nullptr) {
    return absl::UnimplementedError(absl::StrCat("there is no ", group, " ", version));
  }
  // Each keeps the other alive.
  struct Both {
    std::shared_ptr<Node> node;
    std::shared_ptr<void> api;
  };
  auto both = std::make_shared<Both>(Both{std::move(node), std::move(api)});
  void* const raw = both->api.get();
  return std::shared_ptr<void>(std::move(both), raw);
}

SerializedNode::SerializedNode(std::shared_ptr<Node> node) : node_(std::move(node)) {
  ForEachGroup(*node_, [&](const char* group, const auto& versions, auto* service) {
    for (const auto* version : versions) {
      const std::shared_ptr<void> api = version->open(service, CallsOf(*node_, group));
      for (const rpc::UnaryMethod& method : version->methods) {
        rows_.emplace(method.info->path, Row{&method, api});
      }
    }
  });
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
  const absl::Status status = method.call(row->second.api.get(), context, *message, answer.get());
  if (!status.ok()) return status;
  *response = answer->SerializeAsString();
  return absl::OkStatus();
}

}  // namespace csi_proxy::client

// The nodes that this library makes, which limit and count the calls of versioned clients.
#pragma once

#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/groups.h"
#include "csi_proxy/node.h"
#include "server/node/managed_node.h"
#include "server/rpc/call_limiter.h"
#include "server/service/call_log.h"
#include "server/service/metrics.h"

namespace csi_proxy::client {

class OwnNode final : public Node {
 public:
  // Makes a node. `open(log)` opens the machine; its messages go to the log of `options`.
  // INVALID_ARGUMENT naming the option; otherwise the error of `open`.
  using OpenFunction = std::function<absl::StatusOr<OpenedMachine>(const LogFunction& log)>;
  static absl::StatusOr<std::shared_ptr<Node>> Create(NodeOptions options,
                                                      const OpenFunction& open);
  ~OwnNode() override;

  // Returns the limiter of the versioned clients' calls in a group. Null if this library did not
  // make the node, which then has no limits.
  static rpc::CallLimiter* CallsOf(Node& node, absl::string_view group);

  disk::Service& disk() override { return *node_.services().disk.service; }
  filesystem::Service& filesystem() override { return *node_.services().filesystem.service; }
  iscsi::Service& iscsi() override { return *node_.services().iscsi.service; }
  smb::Service& smb() override { return *node_.services().smb.service; }
  system::Service& system() override { return *node_.services().system.service; }
  storage::Service& storage() override { return *node_.services().storage.service; }
  volume::Service& volume() override { return *node_.services().volume.service; }

 private:
#define NAME_OF(group) #group,
  static constexpr const char* kGroups[] = {CSI_PROXY_FOR_EACH_GROUP(NAME_OF)};
#undef NAME_OF
  static constexpr size_t kGroupCount = std::size(kGroups);

  OwnNode(OpenedMachine machine, const NodeOptions& options, NodeRules rules,
          std::shared_ptr<spdlog::logger> logger, std::unique_ptr<service::Metrics> metrics);

  OwnNode* own() override { return this; }

  std::vector<std::pair<std::string, size_t>> Queued() const;

  // The order matters for destruction: calls end before the objects that they use.
  service::CallLog call_log_;
  const std::unique_ptr<service::Metrics> metrics_;
  ManagedNode node_;
  service::UnknownFieldAudit unknown_fields_;
  std::unique_ptr<rpc::CallLimiter> calls_[kGroupCount];
};

}  // namespace csi_proxy::client

// The nodes that this library makes. They limit and count the calls of versioned clients.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/log_function.h"
#include "csi_proxy/node.h"
#include "server/node/managed_node.h"
#include "server/node/node_calls.h"

namespace csi_proxy::client {

class OwnNode final : public Node {
 public:
  // Makes a node. `open(warn)` opens the machine; its warnings go to the log of `options`.
  // INVALID_ARGUMENT naming the option; otherwise the error of the metrics address or of `open`.
  using OpenFunction = std::function<absl::StatusOr<OpenedMachine>(LineFunction warn)>;
  static absl::StatusOr<std::shared_ptr<Node>> Create(NodeOptions options,
                                                      const OpenFunction& open);

  // Returns the limits and observers of the versioned clients' calls in a group. Null if this
  // library did not make the node: then the calls have no limits.
  static const rpc::CallDeps* CallsOf(Node& node, absl::string_view group);

  disk::Service& disk() override { return *node_.services().disk.service; }
  filesystem::Service& filesystem() override { return *node_.services().filesystem.service; }
  iscsi::Service& iscsi() override { return *node_.services().iscsi.service; }
  smb::Service& smb() override { return *node_.services().smb.service; }
  system::Service& system() override { return *node_.services().system.service; }
  storage::Service& storage() override { return *node_.services().storage.service; }
  volume::Service& volume() override { return *node_.services().volume.service; }

 private:
  OwnNode(OpenedMachine machine, const NodeOptions& options, NodeRules rules,
          std::shared_ptr<spdlog::logger> logger, std::unique_ptr<observability::Metrics> metrics);

  OwnNode* own() override { return this; }

  ManagedNode node_;
  NodeCalls calls_;
};

}  // namespace csi_proxy::client

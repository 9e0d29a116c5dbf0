#include "server/node/managed_node.h"

#include <utility>

namespace csi_proxy {

ManagedNode::ManagedNode(OpenedMachine machine, NodeRules rules, std::unique_ptr<AuditLog> audit)
    : machine_(std::move(machine)),
      audit_(std::move(audit)),
      locks_(std::move(machine_.processes)),
      services_({.host = machine_.host.get(),
                 .locks = &locks_,
                 .roots = std::move(rules.roots),
                 .allowed_services = std::move(rules.allowed_services),
                 .require_privacy = rules.require_privacy},
                audit_.get()) {}

}  // namespace csi_proxy

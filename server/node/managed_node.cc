#include "server/node/managed_node.h"

#include <utility>

namespace csi_proxy {

ManagedNode::ManagedNode(OpenedMachine machine, NodeRules rules, std::unique_ptr<AuditLog> audit,
                         LineFunction log, LineFunction warn)
    : machine_(std::move(machine)),
      audit_(std::move(audit)),
      locks_(std::move(machine_.processes)),
      long_runs_(std::move(warn), log),
      shares_(std::make_shared<smb::KnownShares>(log)),
      services_({std::move(rules), machine_.host.get(), &locks_, std::move(log), shares_},
                audit_.get()),
      share_count_([this](const CallContext& context) {
        return services_.storage.service->ListSmbMappings(context, {});
      }) {
  if (machine_.add_faults != nullptr) machine_.add_faults(services_);
}

}  // namespace csi_proxy

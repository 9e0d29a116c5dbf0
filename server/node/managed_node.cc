#include "server/node/managed_node.h"

#include <utility>

#include "server/base/status_macros.h"

namespace csi_proxy {

absl::StatusOr<NodeRules> NodeRules::Parse(absl::string_view working_dirs_option,
                                           const std::vector<std::string>& working_dirs,
                                           std::vector<std::string> allowed_services,
                                           bool require_privacy) {
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const PathRoots> roots,
                        PathRoots::Parse(working_dirs_option, working_dirs));
  return NodeRules{.roots = std::move(roots),
                   .allowed_services = std::move(allowed_services),
                   .require_privacy = require_privacy};
}

ManagedNode::ManagedNode(OpenedMachine machine, NodeRules rules, std::unique_ptr<AuditLog> audit,
                         std::function<void(absl::string_view)> log)
    : machine_(std::move(machine)),
      audit_(std::move(audit)),
      locks_(std::move(machine_.processes)),
      formats_(log),
      shares_(std::make_shared<smb::KnownShares>(std::move(log))),
      services_({.host = machine_.host.get(),
                 .locks = &locks_,
                 .formats = &formats_,
                 .roots = std::move(rules.roots),
                 .allowed_services = std::move(rules.allowed_services),
                 .require_privacy = rules.require_privacy,
                 .bind_smb_credentials = rules.bind_smb_credentials,
                 .allow_local_shares = rules.allow_local_shares,
                 .keep_foreign_data = rules.keep_foreign_data,
                 .shares = shares_},
                audit_.get()),
      share_count_([this](const CallContext& context) {
        return services_.storage.service->ListSmbMappings(context, {});
      }) {
  if (machine_.add_faults != nullptr) machine_.add_faults(services_);
}

}  // namespace csi_proxy

// A managed node: a machine with its rules, locks, audit log and the handlers of all groups. The
// service serves it on pipes; embedded mode calls it through the versioned clients.
#pragma once

#include <memory>
#include <optional>

#include "csi_proxy/log_function.h"
#include "server/base/audit.h"
#include "server/base/running_calls.h"
#include "server/groups/node_services.h"
#include "server/groups/share_count.h"
#include "server/groups/smb/known_shares.h"
#include "server/locks/resource_locks.h"
#include "server/node/opened_machine.h"

namespace csi_proxy {

// Thread-safe.
class ManagedNode {
 public:
  // `log` receives the start, progress and end of formats, and some refusals to format a mounted
  // volume. When a call removes or keeps the mapping of a share, `log` also receives the links to
  // the share. `warn` receives the calls that take long.
  ManagedNode(OpenedMachine machine, NodeRules rules, std::unique_ptr<AuditLog> audit,
              LineFunction log, LineFunction warn);

  const groups::NodeServices& services() const { return services_; }

  // Returns the audit log, for calls that are refused before they reach a handler.
  AuditLog* audit() const { return audit_.get(); }

  // Returns how often calls removed or kept mappings.
  smb::KnownShares::Counts unmaps() const { return shares_->counts(); }

  // Returns the last counts of mappings; nullopt before the first count or after one that failed.
  std::optional<groups::ShareCounts> share_counts() const { return share_count_.Get(); }

 private:
  OpenedMachine machine_;
  const std::unique_ptr<AuditLog> audit_;
  ResourceLocks locks_;
  const LongRunLog long_runs_;
  const std::shared_ptr<smb::KnownShares> shares_;
  groups::NodeServices services_;
  // Must be last, because its thread uses the services.
  mutable groups::ShareCount share_count_;
};

}  // namespace csi_proxy

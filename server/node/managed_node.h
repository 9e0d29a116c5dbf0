// A node that this process manages: a machine, the rules over it, locks, audit and the handlers of
// all groups. The service puts pipes over it, embedded mode the versioned clients.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/base/audit.h"
#include "server/base/resource_locks.h"
#include "server/base/windows_path.h"
#include "server/groups/format_watch.h"
#include "server/groups/node_services.h"
#include "server/groups/share_count.h"
#include "server/groups/smb/known_shares.h"
#include "server/node/opened_machine.h"

namespace csi_proxy {

// The limits of calls.
struct NodeRules {
  // As options give them. INVALID_ARGUMENT, calling the directories `working_dirs_option`.
  static absl::StatusOr<NodeRules> Parse(absl::string_view working_dirs_option,
                                         const std::vector<std::string>& working_dirs,
                                         std::vector<std::string> allowed_services,
                                         bool require_privacy);

  // The directories that paths may lead into; required.
  std::shared_ptr<const PathRoots> roots;
  // The services that calls may start and stop; empty for all.
  std::vector<std::string> allowed_services = {};
  // If true, SMB mappings ask for encryption.
  bool require_privacy = true;
  // If true, a mapping is only for calls that give the credentials with which it was made.
  bool bind_smb_credentials = false;
};

// Thread-safe.
class ManagedNode {
 public:
  // `log` gets the begin, the progress and the end of each slow operation, and links whose mapping
  // was removed.
  ManagedNode(
      OpenedMachine machine, NodeRules rules, std::unique_ptr<AuditLog> audit,
      std::function<void(absl::string_view)> log = [](absl::string_view) {});

  const groups::NodeServices& services() const { return services_; }

  // For calls that reach no handler.
  AuditLog* audit() const { return audit_.get(); }

  groups::FormatWatch::Running formats() const { return formats_.running(); }
  // The fates of mappings that calls were to remove.
  smb::KnownShares::Counts unmaps() const { return shares_->counts(); }

  // Nothing as long as they are not known.
  std::optional<groups::ShareCounts> share_counts() const { return share_count_.Get(); }

 private:
  OpenedMachine machine_;
  const std::unique_ptr<AuditLog> audit_;
  ResourceLocks locks_;
  groups::FormatWatch formats_;
  const std::shared_ptr<smb::KnownShares> shares_;
  groups::NodeServices services_;
  // The last, for it uses the services.
  mutable groups::ShareCount share_count_;
};

}  // namespace csi_proxy

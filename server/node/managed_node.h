// A managed node: a machine with its rules, locks, audit log and the handlers of all groups. The
// service serves it on pipes; embedded mode calls it through the versioned clients.
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

// The limits of what calls may do.
struct NodeRules {
  // Parses options. Returns INVALID_ARGUMENT for a bad directory, naming `working_dirs_option`.
  static absl::StatusOr<NodeRules> Parse(absl::string_view working_dirs_option,
                                         const std::vector<std::string>& working_dirs,
                                         std::vector<std::string> allowed_services,
                                         bool require_privacy);

  // The directories that paths must lie in. Must not be null.
  std::shared_ptr<const PathRoots> roots;
  // The services that calls may start and stop; empty for all.
  std::vector<std::string> allowed_services = {};
  // Makes SMB mappings ask for encryption.
  bool require_privacy = true;
  // Lets a call use a mapping only with the credentials with which it was made.
  bool bind_smb_credentials = false;
  // Lets calls map shares that this node serves.
  bool allow_local_shares = false;
  // If true, no call initialises or formats what holds data that Windows does not recognise.
  bool keep_foreign_data = false;
};

// Thread-safe.
class ManagedNode {
 public:
  // `log` gets the start, progress and end of slow operations, and the links whose mapping was
  // removed.
  ManagedNode(
      OpenedMachine machine, NodeRules rules, std::unique_ptr<AuditLog> audit,
      std::function<void(absl::string_view)> log = [](absl::string_view) {});

  const groups::NodeServices& services() const { return services_; }

  // Returns the audit log, for calls that are refused before a handler.
  AuditLog* audit() const { return audit_.get(); }

  groups::FormatWatch::Running formats() const { return formats_.running(); }
  // Returns how often calls removed or kept mappings.
  smb::KnownShares::Counts unmaps() const { return shares_->counts(); }

  // Returns nullopt until the mappings have been counted.
  std::optional<groups::ShareCounts> share_counts() const { return share_count_.Get(); }

 private:
  OpenedMachine machine_;
  const std::unique_ptr<AuditLog> audit_;
  ResourceLocks locks_;
  groups::FormatWatch formats_;
  const std::shared_ptr<smb::KnownShares> shares_;
  groups::NodeServices services_;
  // Must be last, because its thread uses the services.
  mutable groups::ShareCount share_count_;
};

}  // namespace csi_proxy

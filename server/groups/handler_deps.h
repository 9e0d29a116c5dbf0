// The dependencies of every handler.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "csi_proxy/log_function.h"
#include "server/groups/smb/known_shares.h"
#include "server/groups/storage/failed_portals.h"
#include "server/groups/storage/target_stages.h"
#include "server/host/host.h"
#include "server/locks/resource_locks.h"
#include "server/names/windows_path.h"

namespace csi_proxy {

// What the options of the service or of an embedded node allow calls to do.
struct NodeRules {
  // The working directories: calls may touch only paths in these. Must not be null.
  std::shared_ptr<const PathRoots> roots;
  // The directories for the contexts of filesystem v1alpha1 and v1beta1; if not set, all `roots`.
  std::optional<WindowsPath> plugins_dir = {}, pods_dir = {};
  // The services that calls may start and stop; empty for all.
  std::vector<std::string> allowed_services = {};
  // True if SMB mappings must be encrypted.
  bool require_privacy = true;
  // True if only calls with the credentials of a mapping may use it.
  bool bind_smb_credentials = false;
  // True if calls may map shares of this node.
  bool allow_local_shares = false;
  // Ends the error for a share of this node, and says how the operator permits such shares. Empty
  // in an embedded node, because its options cannot permit such shares.
  std::string local_shares_remedy = {};
  // If true, PartitionDisk and FormatVolume of the released versions, and FormatVolume of the
  // storage group with `overwrite`, refuse disks and volumes with data that Windows does not
  // recognise. The other calls of the storage group that partition or format always refuse them.
  bool keep_foreign_data = false;
};

namespace groups {

struct HandlerDeps : NodeRules {
  // Not owned; must outlive the handlers. All handlers of a node must share the locks.
  host::Host* host = nullptr;
  ResourceLocks* locks = nullptr;
  // Receives the lines about formats; may be null.
  LineFunction log = nullptr;
  // Shared by all handlers of a node: each handler has a copy of HandlerDeps.
  std::shared_ptr<smb::KnownShares> shares = std::make_shared<smb::KnownShares>();
  std::shared_ptr<storage::FailedPortals> failed_portals =
      std::make_shared<storage::FailedPortals>();
  std::shared_ptr<storage::TargetStages> stages = std::make_shared<storage::TargetStages>();
};

}  // namespace groups
}  // namespace csi_proxy

// The dependencies of every handler.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/base/resource_locks.h"
#include "server/base/windows_path.h"
#include "server/groups/smb/known_shares.h"
#include "server/host/host.h"

namespace csi_proxy::groups {

class FormatWatch;

struct Deps {
  // Not owned; outlive the handlers. All handlers of a node share the locks.
  host::Host* host = nullptr;
  ResourceLocks* locks = nullptr;
  // Not owned, may be null: hears of formats that run.
  FormatWatch* formats = nullptr;
  // The working directories, which calls may touch.
  std::shared_ptr<const PathRoots> roots;
  // The services that calls may start and stop; empty for all.
  std::vector<std::string> allowed_services;
  // SMB mappings must be encrypted.
  bool require_privacy = true;
  // Only calls with the credentials of a mapping may use it.
  bool bind_smb_credentials = false;
  // Calls of the released versions refuse disks and volumes with data that Windows does not
  // recognise, as the calls of the storage group always do.
  bool keep_foreign_data = false;
  // The same for all handlers of a node, whose dependencies are copies.
  std::shared_ptr<smb::KnownShares> shares = std::make_shared<smb::KnownShares>();
};

}  // namespace csi_proxy::groups

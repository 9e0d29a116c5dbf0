// The handlers of a node, whose calls are recorded.
#pragma once

#include <memory>

#include "csi_proxy/disk/hub.h"
#include "csi_proxy/filesystem/hub.h"
#include "csi_proxy/iscsi/hub.h"
#include "csi_proxy/smb/hub.h"
#include "csi_proxy/storage/hub.h"
#include "csi_proxy/system/hub.h"
#include "csi_proxy/volume/hub.h"
#include "server/base/audit.h"
#include "server/groups/deps.h"

namespace csi_proxy::groups {

// A hub's service and, over it, its audit.
template <typename Service>
struct Audited {
  std::unique_ptr<Service> handler;
  std::unique_ptr<Service> service;
};

// Thread-safe.
struct NodeServices {
  // `audit` is not owned and outlives the services, as do the objects in `deps`.
  NodeServices(const Deps& deps, AuditLog* audit);

  Audited<disk::Service> disk;
  Audited<filesystem::Service> filesystem;
  Audited<iscsi::Service> iscsi;
  Audited<smb::Service> smb;
  Audited<storage::Service> storage;
  Audited<system::Service> system;
  Audited<volume::Service> volume;
};

}  // namespace csi_proxy::groups

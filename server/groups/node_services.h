// The handlers of a node, wrapped by the audit log.
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

// A handler and the audited service over it.
template <typename Service>
struct Audited {
  std::unique_ptr<Service> handler;
  std::unique_ptr<Service> service;
};

// Thread-safe.
struct NodeServices {
  // `audit` is not owned; it and the objects in `deps` must outlive the services.
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

// The handlers of the groups, and those of a node, wrapped by the audit log. Handlers enforce each
// group's rules, which do not depend on the host.
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

namespace csi_proxy {

// Thread-safe. The hub's documentation states the promises of each method.
namespace disk {
std::unique_ptr<Service> NewDiskService(const groups::Deps& deps);
}
namespace filesystem {
std::unique_ptr<Service> NewFilesystemService(const groups::Deps& deps);
}
namespace iscsi {
std::unique_ptr<Service> NewIscsiService(const groups::Deps& deps);
}
namespace smb {
std::unique_ptr<Service> NewSmbService(const groups::Deps& deps);
}
namespace storage {
std::unique_ptr<Service> NewStorageService(const groups::Deps& deps);
}
namespace system {
std::unique_ptr<Service> NewSystemService(const groups::Deps& deps);
}
namespace volume {
std::unique_ptr<Service> NewVolumeService(const groups::Deps& deps);
}

namespace groups {

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

}  // namespace groups
}  // namespace csi_proxy

// Makes the handler of each group, which enforces the group's rules over any host. NodeServices
// contains the handlers of all groups, each behind the audit log.
#pragma once

#include <memory>
#include <utility>

#include "csi_proxy/all_audited.h"
#include "csi_proxy/all_hub.h"
#include "server/base/audit.h"
#include "server/groups/handler_deps.h"

namespace csi_proxy {

// The handlers are thread-safe. csi_proxy/GROUP/hub.h documents their methods.
namespace disk {
std::unique_ptr<Service> NewDiskService(const groups::HandlerDeps& deps);
}
namespace filesystem {
std::unique_ptr<Service> NewFilesystemService(const groups::HandlerDeps& deps);
}
namespace iscsi {
std::unique_ptr<Service> NewIscsiService(const groups::HandlerDeps& deps);
}
namespace smb {
std::unique_ptr<Service> NewSmbService(const groups::HandlerDeps& deps);
}
namespace storage {
std::unique_ptr<Service> NewStorageService(const groups::HandlerDeps& deps);
}
namespace system {
std::unique_ptr<Service> NewSystemService(const groups::HandlerDeps& deps);
}
namespace volume {
std::unique_ptr<Service> NewVolumeService(const groups::HandlerDeps& deps);
}

namespace groups {

// A handler and the audited service over it.
template <typename Service>
struct Audited {
  // Argument-dependent lookup finds NewAudited() in the namespace of the handler's group.
  Audited(std::unique_ptr<Service> of, AuditLog* audit)
      : handler(std::move(of)), service(NewAudited(handler.get(), audit)) {}

  std::unique_ptr<Service> handler;
  std::unique_ptr<Service> service;
};

// Thread-safe.
struct NodeServices {
  // `audit` is not owned; `audit` and the objects in `deps` must outlive the services.
  NodeServices(const HandlerDeps& deps, AuditLog* audit)
      : disk(disk::NewDiskService(deps), audit),
        filesystem(filesystem::NewFilesystemService(deps), audit),
        iscsi(iscsi::NewIscsiService(deps), audit),
        smb(smb::NewSmbService(deps), audit),
        storage(storage::NewStorageService(deps), audit),
        system(system::NewSystemService(deps), audit),
        volume(volume::NewVolumeService(deps), audit) {}

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

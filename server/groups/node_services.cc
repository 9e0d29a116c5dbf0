#include "server/groups/node_services.h"

#include <utility>

#include "csi_proxy/all_audited.h"

namespace csi_proxy::groups {
namespace {

template <typename Service>
Audited<Service> Audit(std::unique_ptr<Service> handler, AuditLog* audit) {
  // Argument-dependent lookup finds NewAudited() in the namespace of the handler's group.
  auto service = NewAudited(handler.get(), audit);
  return {std::move(handler), std::move(service)};
}

}  // namespace

NodeServices::NodeServices(const Deps& deps, AuditLog* audit)
    : disk(Audit(disk::NewDiskService(deps), audit)),
      filesystem(Audit(filesystem::NewFilesystemService(deps), audit)),
      iscsi(Audit(iscsi::NewIscsiService(deps), audit)),
      smb(Audit(smb::NewSmbService(deps), audit)),
      storage(Audit(storage::NewStorageService(deps), audit)),
      system(Audit(system::NewSystemService(deps), audit)),
      volume(Audit(volume::NewVolumeService(deps), audit)) {}

}  // namespace csi_proxy::groups

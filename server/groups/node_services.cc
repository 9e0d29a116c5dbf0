#include "server/groups/node_services.h"

#include <utility>

#include "csi_proxy/disk/audited.h"
#include "csi_proxy/disk/faulty.h"
#include "csi_proxy/filesystem/audited.h"
#include "csi_proxy/filesystem/faulty.h"
#include "csi_proxy/iscsi/audited.h"
#include "csi_proxy/iscsi/faulty.h"
#include "csi_proxy/smb/audited.h"
#include "csi_proxy/smb/faulty.h"
#include "csi_proxy/storage/audited.h"
#include "csi_proxy/storage/faulty.h"
#include "csi_proxy/system/audited.h"
#include "csi_proxy/system/faulty.h"
#include "csi_proxy/volume/audited.h"
#include "csi_proxy/volume/faulty.h"
#include "server/groups/handlers.h"

namespace csi_proxy::groups {
namespace {

// `Faulty` is the group's, and the audit is found by the handler's type.
template <typename Faulty, typename Service>
Audited<Service> Audit(std::unique_ptr<Service> handler, AuditLog* audit, FaultGate* faults) {
  if (faults != nullptr) handler = std::make_unique<Faulty>(std::move(handler), faults);
  auto service = NewAudited(handler.get(), audit);
  return {std::move(handler), std::move(service)};
}

}  // namespace

NodeServices::NodeServices(const Deps& deps, AuditLog* audit, FaultGate* faults)
    : disk(Audit<disk::Faulty>(disk::NewDiskService(deps), audit, faults)),
      filesystem(Audit<filesystem::Faulty>(filesystem::NewFilesystemService(deps), audit, faults)),
      iscsi(Audit<iscsi::Faulty>(iscsi::NewIscsiService(deps), audit, faults)),
      smb(Audit<smb::Faulty>(smb::NewSmbService(deps), audit, faults)),
      storage(Audit<storage::Faulty>(storage::NewStorageService(deps), audit, faults)),
      system(Audit<system::Faulty>(system::NewSystemService(deps), audit, faults)),
      volume(Audit<volume::Faulty>(volume::NewVolumeService(deps), audit, faults)) {}

}  // namespace csi_proxy::groups

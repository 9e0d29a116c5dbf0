// The handlers of the groups. They enforce each group's rules, which do not depend on the host.
#pragma once

#include <memory>

#include "csi_proxy/disk/hub.h"
#include "csi_proxy/filesystem/hub.h"
#include "csi_proxy/iscsi/hub.h"
#include "csi_proxy/smb/hub.h"
#include "csi_proxy/storage/hub.h"
#include "csi_proxy/system/hub.h"
#include "csi_proxy/volume/hub.h"
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

}  // namespace csi_proxy

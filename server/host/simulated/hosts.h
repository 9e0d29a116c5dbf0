// The host interfaces over a simulated node's core, one file each.
#pragma once

#include <memory>

#include "server/host/host.h"
#include "server/host/simulated/core.h"

namespace csi_proxy::host::simulated {

// `core` is not owned and must outlive what is returned.
std::unique_ptr<DiskHost> NewDiskHost(Core* core);
std::unique_ptr<VolumeHost> NewVolumeHost(Core* core);
std::unique_ptr<FilesystemHost> NewFilesystemHost(Core* core);
std::unique_ptr<SmbHost> NewSmbHost(Core* core);
std::unique_ptr<IscsiHost> NewIscsiHost(Core* core);
std::unique_ptr<SystemHost> NewSystemHost(Core* core);

}  // namespace csi_proxy::host::simulated

// The host interfaces over a simulated node's core, one file each.
#pragma once

#include <memory>

#include "server/host/host.h"
#include "server/machine/simulated/core.h"

namespace csi_proxy::machine::simulated {

using namespace host;  // NOLINT: until the simulated hosts have gone

// `core` is not owned and must outlive what is returned.
std::unique_ptr<DiskHost> NewDiskHost(Core* core);
std::unique_ptr<VolumeHost> NewVolumeHost(Core* core);
std::unique_ptr<FilesystemHost> NewFilesystemHost(Core* core);
std::unique_ptr<SmbHost> NewSmbHost(Core* core);
std::unique_ptr<IscsiHost> NewIscsiHost(Core* core);
std::unique_ptr<SystemHost> NewSystemHost(Core* core);

}  // namespace csi_proxy::machine::simulated

// A real Windows node: reads through Win32, management through WMI, never a child process.
#pragma once

#include <memory>

#include "server/host/host.h"
#include "server/host/windows/cim/session.h"
#include "server/host/windows/os.h"

namespace csi_proxy::host::windows {

// What the six hosts share. Neither is owned.
struct Parts {
  cim::Session* wmi = nullptr;
  Os* os = nullptr;
};

std::unique_ptr<DiskHost> NewDiskHost(const Parts& parts);
std::unique_ptr<VolumeHost> NewVolumeHost(const Parts& parts);
std::unique_ptr<FilesystemHost> NewFilesystemHost(const Parts& parts);
std::unique_ptr<SmbHost> NewSmbHost(const Parts& parts);
std::unique_ptr<IscsiHost> NewIscsiHost(const Parts& parts);
std::unique_ptr<SystemHost> NewSystemHost(const Parts& parts);

// The six together.
std::unique_ptr<Host> NewWindowsHost(std::unique_ptr<cim::Session> wmi, std::unique_ptr<Os> os);

}  // namespace csi_proxy::host::windows

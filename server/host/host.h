// A Windows node: the interfaces behind which the product touches the machine.
#pragma once

#include <functional>
#include <memory>

#include "absl/strings/string_view.h"
#include "server/host/disk_host.h"
#include "server/host/filesystem_host.h"
#include "server/host/iscsi_host.h"
#include "server/host/smb_host.h"
#include "server/host/system_host.h"
#include "server/host/volume_host.h"
#include "server/machine/cim/session.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

// Thread-safe. The interfaces live as long as the Host.
class Host {
 public:
  virtual ~Host() = default;
  virtual DiskHost& disk() = 0;
  virtual VolumeHost& volume() = 0;
  virtual FilesystemHost& filesystem() = 0;
  virtual SmbHost& smb() = 0;
  virtual IscsiHost& iscsi() = 0;
  virtual SystemHost& system() = 0;
};

// The rules of a Windows node over a machine: reads through Win32, management through WMI, never a
// child process. `warn`, if any, gets messages for the operator that fail no call.
std::unique_ptr<Host> NewHost(std::unique_ptr<cim::Session> wmi, std::unique_ptr<machine::Os> os,
                              std::function<void(absl::string_view)> warn = nullptr);

}  // namespace csi_proxy::host

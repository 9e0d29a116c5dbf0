// A Windows node: the six interfaces behind which the product touches the machine.
#pragma once

#include "server/host/disk_host.h"
#include "server/host/filesystem_host.h"
#include "server/host/iscsi_host.h"
#include "server/host/smb_host.h"
#include "server/host/system_host.h"
#include "server/host/volume_host.h"

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

}  // namespace csi_proxy::host

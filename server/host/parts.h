// The parts that the six hosts are made from.
#pragma once

#include <functional>
#include <memory>

#include "absl/strings/string_view.h"
#include "server/host/disk_host.h"
#include "server/host/filesystem_host.h"
#include "server/host/iscsi_host.h"
#include "server/host/smb_host.h"
#include "server/host/storage_namespace.h"
#include "server/host/system_host.h"
#include "server/host/volume_host.h"
#include "server/machine/cim/session.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

// The parts that the six hosts share. Owns nothing.
struct Parts {
  cim::Session* wmi = nullptr;
  StorageNamespace* storage = nullptr;
  machine::Os* os = nullptr;
  // Gets messages for the operator that fail no call; never null.
  std::function<void(absl::string_view)> warn;
};

std::unique_ptr<DiskHost> NewDiskHost(const Parts& parts);
std::unique_ptr<VolumeHost> NewVolumeHost(const Parts& parts);
std::unique_ptr<FilesystemHost> NewFilesystemHost(const Parts& parts);
std::unique_ptr<SmbHost> NewSmbHost(const Parts& parts);
std::unique_ptr<IscsiHost> NewIscsiHost(const Parts& parts);
std::unique_ptr<SystemHost> NewSystemHost(const Parts& parts);

}  // namespace csi_proxy::host

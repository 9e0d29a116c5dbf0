// A Windows node: the hosts through which the product touches the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/host/disk_host.h"
#include "server/host/filesystem_host.h"
#include "server/host/iscsi_host.h"
#include "server/host/smb_host.h"
#include "server/host/system_host.h"
#include "server/host/volume_host.h"
#include "server/machine/cim/session.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

// Paces a loop that looks for something that arrives with a disk or volume: call Watch(), look,
// call Wait(), repeat. Wait() returns early when the machine reports an arrival or a removal, and
// in any case after a pause, because a report may be lost or too early. Not thread-safe.
class DeviceWatch {
 public:
  // The pause between two looks doubles from `first` to `longest` until a device comes or goes.
  DeviceWatch(machine::Os* os, absl::Duration first, absl::Duration longest)
      : os_(*os), first_(first), longest_(longest) {}

  // Must be called before each look.
  void Watch() { seen_ = os_.DeviceChanges(); }
  // Waits until the next look is due. Returns CallContext::Check() once the call has ended.
  absl::Status Wait(const CallContext& context);

 private:
  machine::Os& os_;
  const absl::Duration first_, longest_;
  absl::Duration pause_;
  uint64_t seen_ = 0;
};

// Reads a machine through Win32 and manages it through WMI; starts no child process. The six hosts
// live as long as this one. Thread-safe.
class Host {
 public:
  // `warn`, if set, receives messages for the operator that fail no call.
  Host(std::unique_ptr<cim::Session> wmi, std::unique_ptr<machine::Os> os,
       std::function<void(absl::string_view)> warn = nullptr);

  DiskHost& disk() { return disk_; }
  VolumeHost& volume() { return volume_; }
  FilesystemHost& filesystem() { return filesystem_; }
  SmbHost& smb() { return smb_; }
  IscsiHost& iscsi() { return iscsi_; }
  SystemHost& system() { return system_; }
  DeviceWatch WatchDevices(absl::Duration first, absl::Duration longest) {
    return DeviceWatch(os_.get(), first, longest);
  }

 private:
  const std::unique_ptr<cim::Session> wmi_;
  const std::unique_ptr<machine::Os> os_;
  StorageNamespace storage_{wmi_.get()};
  const Deps deps_;
  DiskHost disk_{deps_};
  VolumeHost volume_{deps_};
  FilesystemHost filesystem_{deps_};
  SmbHost smb_{deps_};
  IscsiHost iscsi_{deps_};
  SystemHost system_{deps_};
};

}  // namespace csi_proxy::host

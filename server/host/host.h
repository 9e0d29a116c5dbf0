// A Windows node: the hosts through which the product uses the machine.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/log_function.h"
#include "csi_proxy/steady_time.h"
#include "server/host/devices.h"
#include "server/host/disk_host.h"
#include "server/host/filesystem_host.h"
#include "server/host/iscsi_host.h"
#include "server/host/smb_host.h"
#include "server/host/system_host.h"
#include "server/host/volume_host.h"
#include "server/machine/cim/session.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

// Reads and changes a machine through Win32 and WMI; starts no child process. The six hosts live as
// long as the Host. Thread-safe.
class Host {
 public:
  // `warn`, if set, receives messages for the operator about problems that do not fail a call.
  Host(std::unique_ptr<cim::Session> wmi, std::unique_ptr<machine::Os> os,
       LineFunction warn = nullptr)
      : wmi_(std::move(wmi)),
        os_(std::move(os)),
        changes_(32, [this](const LogText& line) { deps_.warn(line); }),
        setups_(128, [this](const LogText& line) { deps_.warn(line); }),
        deps_{wmi_.get(),
              &storage_,
              os_.get(),
              &changes_,
              &setups_,
              &reads_,
              &flushes_,
              &used_,
              &volumes_,
              [this, warn = std::move(warn)](const LogText& line) {
                if (warn != nullptr && !is_ending_) warn(line);
              }} {}

  ~Host() { EndRuns(absl::InfiniteDuration()); }

  DiskHost& disk() { return disk_; }
  VolumeHost& volume() { return volume_; }
  FilesystemHost& filesystem() { return filesystem_; }
  SmbHost& smb() { return smb_; }
  IscsiHost& iscsi() { return iscsi_; }
  SystemHost& system() { return system_; }
  // Logs a message for the operator about a problem that does not fail a call.
  void Warn(const LogText& message) { deps_.warn(message); }
  // The runs that read a volume for a listing, or a drive when the process starts. The object of a
  // run is the volume's GUID or the drive.
  DetachedRuns& looks() { return looks_; }
  // Cancels all runs that their calls have left or share, and stops logging. Returns false if a run
  // is still under way after `limit`, because Windows does not end it; then the host must not be
  // destroyed. REQUIRES: no call is under way, and none follows.
  bool EndRuns(absl::Duration limit) {
    is_ending_ = true;
    const SteadyTime until = SteadyTime::Now() + limit;
    bool have_ended = true;
    const auto end = [&](auto& runs) { have_ended &= runs.End(until - SteadyTime::Now()); };
    for (DetachedRuns* const runs : {&changes_, &setups_, &reads_, &flushes_, &looks_}) end(*runs);
    for (auto& listing : disk_.listings()) end(listing);
    end(iscsi_.refreshes());
    end(storage_.update());
    end(volumes_);
    return have_ended;
  }
  DeviceWatch WatchDevices(absl::Duration first, absl::Duration longest) {
    return DeviceWatch(os_.get(), first, longest);
  }

 private:
  const std::unique_ptr<cim::Session> wmi_;
  const std::unique_ptr<machine::Os> os_;
  StorageNamespace storage_{wmi_.get()};
  UsedVolumes used_;
  SharedRun<absl::StatusOr<NodeVolumes>> volumes_;
  std::atomic<bool> is_ending_ = false;
  DetachedRuns changes_;
  // Separate from `changes_`, because set-ups at servers that do not answer must not use up a
  // tenant's limit for teardowns.
  DetachedRuns setups_;
  // Not among `reads_`, because a volume that is not flushed is unmounted nevertheless.
  DetachedRuns flushes_{128};
  DetachedRuns reads_{128};
  DetachedRuns looks_{1024};
  const HostDeps deps_;
  DiskHost disk_{deps_};
  VolumeHost volume_{deps_};
  FilesystemHost filesystem_{deps_};
  SmbHost smb_{deps_};
  IscsiHost iscsi_{deps_};
  SystemHost system_{deps_};
};

}  // namespace csi_proxy::host

#include "server/host/host.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "server/base/status_macros.h"
#include "server/host/deps.h"

namespace csi_proxy::host {
namespace {

class MachineHost final : public Host {
 public:
  MachineHost(std::unique_ptr<cim::Session> wmi, std::unique_ptr<machine::Os> os,
              std::function<void(absl::string_view)> warn)
      : wmi_(std::move(wmi)),
        os_(std::move(os)),
        deps_{wmi_.get(), &storage_, os_.get(), std::move(warn)} {}

  DiskHost& disk() override { return disk_; }
  VolumeHost& volume() override { return volume_; }
  FilesystemHost& filesystem() override { return filesystem_; }
  SmbHost& smb() override { return smb_; }
  IscsiHost& iscsi() override { return iscsi_; }
  SystemHost& system() override { return system_; }
  DeviceWatch WatchDevices(absl::Duration first, absl::Duration longest) override {
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

}  // namespace

absl::Status DeviceWatch::Wait(const CallContext& context) {
  const YieldSlot yielded(context);
  // How often a wait checks whether its caller has gone away.
  constexpr absl::Duration kLook = absl::Milliseconds(50);
  pause_ = std::clamp(2 * pause_, first_, longest_);
  const absl::Time until = std::min(absl::Now() + pause_, context.deadline());
  for (absl::Duration left; (left = until - absl::Now()) > absl::ZeroDuration();) {
    ABSL_RETURN_IF_ERROR(context.Check());
    os_.AwaitDeviceChange(seen_, std::min(left, kLook));
    if (os_.DeviceChanges() == seen_) continue;
    pause_ = absl::ZeroDuration();
    break;
  }
  return context.Check();
}

std::unique_ptr<Host> NewHost(std::unique_ptr<cim::Session> wmi, std::unique_ptr<machine::Os> os,
                              std::function<void(absl::string_view)> warn) {
  if (warn == nullptr) warn = [](absl::string_view) {};
  return std::make_unique<MachineHost>(std::move(wmi), std::move(os), std::move(warn));
}

}  // namespace csi_proxy::host

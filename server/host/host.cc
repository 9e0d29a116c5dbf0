#include "server/host/host.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "server/base/status_macros.h"

namespace csi_proxy::host {

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

Host::Host(std::unique_ptr<cim::Session> wmi, std::unique_ptr<machine::Os> os,
           std::function<void(absl::string_view)> warn)
    : wmi_(std::move(wmi)),
      os_(std::move(os)),
      deps_{wmi_.get(), &storage_, os_.get(),
            warn != nullptr ? std::move(warn) : [](absl::string_view) {}} {}

}  // namespace csi_proxy::host

#include "server/supervision/service_status.h"

#include "csi_proxy/steady_time.h"

namespace csi_proxy {

ServiceReport ServiceStatus::Pending() {
  return {.phase = phase_,
          .checkpoint = ++checkpoint_,
          .wait_hint_milliseconds = static_cast<uint32_t>(absl::ToInt64Milliseconds(kWaitHint))};
}

ServiceReport ServiceStatus::Running() {
  phase_ = ServicePhase::kRunning;
  // Does not accept SERVICE_ACCEPT_PRESHUTDOWN, because the kubelet's preshutdown handler unmounts
  // the pods' volumes through this service. See service_installer/README.md.
  return {.phase = phase_, .accepted_controls = kAcceptStop | kAcceptShutdown};
}

ServiceReport ServiceStatus::Stopping(SteadyTime now, absl::Duration limit) {
  phase_ = ServicePhase::kStopping;
  checkpoint_ = 0;
  pending_until_ = now + limit;
  return Pending();
}

ServiceReport ServiceStatus::Stopped(uint32_t exit_code) {
  phase_ = ServicePhase::kStopped;
  return {.phase = phase_, .exit_code = exit_code};
}

std::optional<ServiceReport> ServiceStatus::Progress(SteadyTime now) {
  const bool pending = phase_ == ServicePhase::kStarting || phase_ == ServicePhase::kStopping;
  if (!pending || now >= pending_until_) return std::nullopt;
  return Pending();
}

bool ServiceStatus::IsStopOverdue(SteadyTime now) const {
  return phase_ == ServicePhase::kStopping && now >= pending_until_;
}

ServiceStatus::Answer ServiceStatus::OnControl(uint32_t control) {
  switch (control) {
    case kControlStop:
    case kControlShutdown:
      return Answer::kStop;
    case kControlInterrogate:
      return Answer::kNothing;
    default:
      return Answer::kNotImplemented;
  }
}

}  // namespace csi_proxy

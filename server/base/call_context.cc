#include "csi_proxy/call_context.h"

#include <algorithm>

namespace csi_proxy {

const Peer& CallContext::peer() const {
  static const Peer* const kUnknown = new Peer();
  return peer_ != nullptr ? *peer_ : *kUnknown;
}

absl::Status CallContext::Check() const {
  if (cancelled()) return absl::CancelledError("the caller went away");
  if (deadline_ != absl::InfiniteFuture() && absl::Now() >= deadline_) {
    return absl::DeadlineExceededError("the call's deadline has passed");
  }
  return absl::OkStatus();
}

absl::Status CallContext::SleepFor(absl::Duration duration) const {
  const YieldSlot yielded(*this);
  const absl::Time until = std::min(absl::Now() + duration, deadline_);
  // Windows may end a wait one clock tick early.
  while (!cancelled() && absl::Now() < until) {
    if (cancelled_ != nullptr) {
      cancelled_->WaitForNotificationWithDeadline(until);
    } else {
      absl::SleepFor(until - absl::Now());
    }
  }
  return Check();
}

CallContext CallContext::NoLaterThan(absl::Time time) const {
  return CallContext(std::min(deadline_, time), cancelled_, peer_, pipe_, slot_);
}

CallContext CallContext::Leaving(int part, absl::Duration most) const {
  return NoLaterThan(deadline_ - std::min((deadline_ - absl::Now()) / part, most));
}

CallContext CallContext::WithTimeout(absl::Duration limit) const {
  return NoLaterThan(absl::Now() + limit);
}

}  // namespace csi_proxy

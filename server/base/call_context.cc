#include "csi_proxy/call_context.h"

#include <algorithm>

#include "csi_proxy/steady_time.h"

namespace csi_proxy {
namespace {

constexpr absl::Duration kCancellationPoll = absl::Milliseconds(10);

// Returns true if the text consists of lower-case hexadecimal digits that are not all 0.
bool IsId(absl::string_view text) {
  return text.find_first_not_of('0') != absl::string_view::npos &&
         text.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

// Returns true for `00-<32 hex>-<16 hex>-<2 hex>` in lower case, with neither id all zeros.
bool IsTraceparent(absl::string_view text) {
  return text.size() == 55 && text.substr(0, 3) == "00-" && IsId(text.substr(3, 32)) &&
         text[35] == '-' && IsId(text.substr(36, 16)) && text[52] == '-' &&
         text.find_first_not_of("0123456789abcdef", 53) == absl::string_view::npos;
}

}  // namespace

const Peer& CallContext::peer() const {
  static const Peer* const kUnknown = new Peer();
  return peer_ != nullptr ? *peer_ : *kUnknown;
}

absl::Status CallContext::Check() const {
  if (cancelled()) return absl::CancelledError("the caller cancelled the call or disconnected");
  if (deadline_ != SteadyTime::InfiniteFuture() && SteadyTime::Now() >= deadline_) {
    return absl::DeadlineExceededError("the call's deadline has passed");
  }
  return absl::OkStatus();
}

absl::Status CallContext::SleepFor(absl::Duration duration) const {
  const YieldSlot yielded(*this);
  const SteadyTime until = std::min(SteadyTime::Now() + duration, deadline_);
  // Loops, because Windows may end a sleep one clock tick early. Polls for cancellation, because
  // absl::Notification measures its waits by the wall clock.
  for (absl::Duration left;
       !cancelled() && (left = until - SteadyTime::Now()) > absl::ZeroDuration();) {
    absl::SleepFor(cancellable() ? std::min(left, kCancellationPoll) : left);
  }
  return Check();
}

CallContext CallContext::NoLaterThan(SteadyTime time) const {
  CallContext context = *this;
  context.deadline_ = std::min(deadline_, time);
  return context;
}

CallContext CallContext::Traced(absl::string_view traceparent) const {
  CallContext context = *this;
  context.traceparent_ = IsTraceparent(traceparent) ? traceparent : "";
  return context;
}

CallContext CallContext::Leaving(int part, absl::Duration most) const {
  return NoLaterThan(deadline_ - std::min((deadline_ - SteadyTime::Now()) / part, most));
}

CallContext CallContext::WithTimeout(absl::Duration limit) const {
  return NoLaterThan(SteadyTime::Now() + limit);
}

CallContext CallContext::Afterwards(absl::Duration limit) const {
  CallContext context = *this;
  context.cancelled_ = nullptr;
  context.deadline_ = SteadyTime::Now() + limit;
  return context;
}

}  // namespace csi_proxy

// The options of one call of a client.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/steady_time.h"

namespace csi_proxy {

struct CallOptions {
  // How long the call may take, connecting included. Zero stands for the client's default, or
  // kDefaultTimeout if the default is zero. absl::InfiniteDuration() means no limit.
  absl::Duration timeout = absl::ZeroDuration();
  // Ends the call with CANCELLED when notified. Not owned; must outlive the call. Null stands for
  // the client's default; if that is null too, the call cannot be cancelled.
  const absl::Notification* cancelled = nullptr;
  // The W3C traceparent of the caller's span, shown in the log and audit lines of the call. Not
  // owned; must outlive the call. Empty stands for the client's default. Ignored unless valid.
  absl::string_view traceparent = {};
};

namespace client {

inline constexpr absl::Duration kDefaultTimeout = absl::Minutes(1);

// Returns the context of a call that starts now. Takes options that are not set from `defaults`.
inline CallContext MakeCallContext(const CallOptions& defaults, const CallOptions& options) {
  absl::Duration timeout = options.timeout;
  if (timeout == absl::ZeroDuration()) timeout = defaults.timeout;
  if (timeout == absl::ZeroDuration()) timeout = kDefaultTimeout;
  return CallContext(SteadyTime::Now() + timeout,
                     options.cancelled != nullptr ? options.cancelled : defaults.cancelled, nullptr)
      .Traced(options.traceparent.empty() ? defaults.traceparent : options.traceparent);
}

}  // namespace client
}  // namespace csi_proxy

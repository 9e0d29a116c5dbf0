// Reports calls that hang, in the log and in a metric.
#pragma once

#include <prometheus/metric_family.h>

#include <functional>
#include <thread>

#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"

namespace csi_proxy::service {

// Logs each call of this process once it has run for `age`, and again whenever its age has doubled.
class LongCallLog {
 public:
  explicit LongCallLog(std::function<void(absl::string_view)> log, absl::Duration age);
  ~LongCallLog();
  LongCallLog(const LongCallLog&) = delete;
  LongCallLog& operator=(const LongCallLog&) = delete;

 private:
  absl::Notification over_;
  std::thread thread_;
};

// Returns the metric `csi_proxy_long_call_seconds`: by rpc, the age at `now` of the oldest call
// that has run for kLongCall. Only the log names a call's object, because metrics have no
// authentication and a client could create any number of series.
prometheus::MetricFamily LongCalls(SteadyTime now);

}  // namespace csi_proxy::service

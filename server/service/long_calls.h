// Calls that hang, in the log and in a metric.
#pragma once

#include <prometheus/metric_family.h>

#include <functional>
#include <thread>

#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace csi_proxy::observability {

// Logs each call of this process that has run for `age`, once, and again each time its age has
// doubled.
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

// The metric `csi_proxy_long_call_seconds`: the age of each call that has run for kLongCall, by its
// rpc and object. Of several calls with one request the oldest counts.
prometheus::MetricFamily LongCalls();

}  // namespace csi_proxy::observability

#include "server/service/long_calls.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "csi_proxy/steady_time.h"
#include "server/base/running_calls.h"

namespace csi_proxy::service {

LongCallLog::LongCallLog(std::function<void(absl::string_view)> log, absl::Duration age) {
  thread_ = std::thread([this, log = std::move(log), age] {
    // Maps the start of each call to the age at which it is logged next.
    std::map<SteadyTime, absl::Duration> next;
    while (!over_.WaitForNotificationWithTimeout(age / 4)) {
      std::map<SteadyTime, absl::Duration> still;
      for (const RunningCallInfo& call : RunningCall::OlderThan(age)) {
        const absl::Duration now = SteadyTime::Now() - call.start;
        absl::Duration due = next.contains(call.start) ? next[call.start] : age;
        if (now >= due) {
          log(absl::StrCat(call.rpc, " has run for ",
                           absl::FormatDuration(absl::Trunc(now, absl::Milliseconds(100))),
                           call.subject.empty() ? "" : ": ", call.subject,
                           call.trace.empty() ? "" : " trace=", call.trace));
          due = 2 * now;
        }
        still.emplace(call.start, due);
      }
      next = std::move(still);
    }
  });
}

prometheus::MetricFamily LongCalls(SteadyTime now) {
  prometheus::MetricFamily family{"csi_proxy_long_call_seconds",
                                  "Age of the oldest call that has run for over a minute, by rpc.",
                                  prometheus::MetricType::Gauge,
                                  {}};
  std::set<std::string> seen;
  for (const RunningCallInfo& call : RunningCall::OlderThan(kLongCall, now)) {
    if (!seen.insert(call.rpc).second) continue;
    prometheus::ClientMetric metric;
    metric.label = {{"rpc", call.rpc}};
    metric.gauge.value = absl::ToDoubleSeconds(now - call.start);
    family.metric.push_back(std::move(metric));
  }
  return family;
}

LongCallLog::~LongCallLog() {
  over_.Notify();
  thread_.join();
}

}  // namespace csi_proxy::service

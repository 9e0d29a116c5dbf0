// The rules by which a service reports to Windows' service control manager and takes its controls,
// as plain data, without the calls.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace csi_proxy {

// The numbers of winsvc.h.
enum class ServicePhase : uint32_t { kStopped = 1, kStarting = 2, kStopping = 3, kRunning = 4 };
enum ServiceControl : uint32_t {
  kControlStop = 1,
  kControlInterrogate = 4,
  kControlShutdown = 5,
  kControlPreshutdown = 15,
};
enum AcceptedControls : uint32_t { kAcceptStop = 1, kAcceptShutdown = 4 };

// One report, for SetServiceStatus().
struct ServiceReport {
  ServicePhase phase = ServicePhase::kStopped;
  uint32_t accepted_controls = 0;
  uint32_t checkpoint = 0;
  uint32_t wait_hint_milliseconds = 0;
  // 0 for success; else the service-specific exit code.
  uint32_t exit_code = 0;

  friend bool operator==(const ServiceReport&, const ServiceReport&) = default;
};

// The phases of a service from its start to its end. Not thread-safe.
class ServiceStatus {
 public:
  // The interval at which Progress() is to be called while the service starts or stops, and the
  // time that the manager waits for the next report.
  static constexpr absl::Duration kProgressInterval = absl::Seconds(2);
  static constexpr absl::Duration kWaitHint = absl::Seconds(10);
  // Beyond this a start reports no progress, and does not hold up the start of the system.
  static constexpr absl::Duration kStartLimit = absl::Minutes(2);

  explicit ServiceStatus(absl::Time now) : pending_until_(now + kStartLimit) {}

  ServiceReport Starting();
  ServiceReport Running();
  // The service ends by itself within `limit`.
  ServiceReport Stopping(absl::Time now, absl::Duration limit);
  ServiceReport Stopped(uint32_t exit_code);

  // The report when nothing else has happened; nothing when there is no progress to claim.
  std::optional<ServiceReport> Progress(absl::Time now);

  // Returns whether a stop has taken longer than it should: some call does not return. Then the
  // caller can only report StopOverdue() and end the process.
  bool IsStopOverdue(absl::Time now) const;
  // STOPPED with success, though the service did not end by itself: with an error the manager would
  // count it as a failure and restart what it was told to stop
  // (https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_failure_actions_flag).
  ServiceReport StopOverdue() { return Stopped(0); }

  // A control handler is to do this.
  enum class Answer { kStop, kNothing, kNotImplemented };
  static Answer OnControl(uint32_t control);

 private:
  ServiceReport Pending();

  ServicePhase phase_ = ServicePhase::kStarting;
  uint32_t checkpoint_ = 0;
  absl::Time pending_until_;
};

}  // namespace csi_proxy

// Decides what a service reports to the service control manager, and how it answers the manager's
// controls. Does not call the manager.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"

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

// The data of one SetServiceStatus() call.
struct ServiceReport {
  ServicePhase phase = ServicePhase::kStopped;
  uint32_t accepted_controls = 0;
  uint32_t checkpoint = 0;
  uint32_t wait_hint_milliseconds = 0;
  // 0 for success, else the service-specific exit code.
  uint32_t exit_code = 0;

  friend bool operator==(const ServiceReport&, const ServiceReport&) = default;
};

// Tracks the phases of a service. Not thread-safe.
class ServiceStatus {
 public:
  // The interval of calls to Progress() while the service starts or stops.
  static constexpr absl::Duration kProgressInterval = absl::Seconds(2);
  // The time that the manager waits for the next report.
  static constexpr absl::Duration kWaitHint = absl::Seconds(10);
  // The longest time for which a start reports progress. A start that takes longer must not delay
  // the boot of the system.
  static constexpr absl::Duration kStartLimit = absl::Minutes(2);

  explicit ServiceStatus(SteadyTime now) : pending_until_(now + kStartLimit) {}

  ServiceReport Starting() { return Pending(); }
  ServiceReport Running();
  // Begins a stop that should end within `limit`. Returns the first report of the stop.
  ServiceReport Stopping(SteadyTime now, absl::Duration limit);
  ServiceReport Stopped(uint32_t exit_code);

  // Returns the report that keeps the manager waiting, or nullopt if none is due.
  std::optional<ServiceReport> Progress(SteadyTime now);

  // Returns true if a stop has reached its limit, for example because a call does not return. Then
  // the caller must report StopOverdue() and end the process.
  bool IsStopOverdue(SteadyTime now) const;
  // Reports success although the stop did not end: after an error the manager would restart the
  // stopped service
  // (https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_failure_actions_flag).
  ServiceReport StopOverdue() { return Stopped(0); }

  // OnControl() returns what the control handler must do.
  enum class Answer { kStop, kNothing, kNotImplemented };
  static Answer OnControl(uint32_t control);

 private:
  ServiceReport Pending();

  ServicePhase phase_ = ServicePhase::kStarting;
  uint32_t checkpoint_ = 0;
  SteadyTime pending_until_;
};

}  // namespace csi_proxy

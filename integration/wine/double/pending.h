// Calls that run in the background: the base of WMI's semisynchronous calls.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/steady_time.h"

namespace csi_proxy::node_double {

// Runs `work` on an idle thread, which is started if there is none. Threads are never ended.
void RunElsewhere(std::function<void()> work);

// The result of a call that runs in the background. Thread-safe.
template <typename T>
class Pending {
 public:
  // Begins `call`, which must end soon after its context is cancelled.
  static std::shared_ptr<Pending> Begin(
      std::function<absl::StatusOr<T>(const CallContext& context)> call) {
    std::shared_ptr<Pending> pending(new Pending());
    RunElsewhere([pending, call = std::move(call)] {
      pending->result_ =
          call(CallContext(SteadyTime::InfiniteFuture(), &pending->cancelled_, nullptr));
      pending->done_.Notify();
    });
    return pending;
  }

  // Cancels the call. REQUIRES: called at most once.
  void Cancel() { cancelled_.Notify(); }

  // Waits for the end of the call, at most `timeout` milliseconds, or without limit if `timeout` is
  // negative (WBEM_INFINITE). Returns true if the call has ended.
  bool Wait(long timeout) {
    if (timeout >= 0) return done_.WaitForNotificationWithTimeout(absl::Milliseconds(timeout));
    done_.WaitForNotification();
    return true;
  }

  // REQUIRES: the call has ended.
  const absl::StatusOr<T>& result() const { return result_; }

 private:
  Pending() = default;

  absl::Notification cancelled_;
  absl::Notification done_;
  // Set before `done_`.
  absl::StatusOr<T> result_;
};

}  // namespace csi_proxy::node_double

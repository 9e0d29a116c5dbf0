// Calls that go on while their caller does something else: the base of WMI's semisynchronous calls.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy::node_double {

// Runs `work` on a thread that has nothing else to do; there are as many as were ever busy at a
// time.
void RunElsewhere(std::function<void()> work);

// Thread-safe.
template <typename T>
class Pending {
 public:
  // Begins `call`, which is to end soon after its context is cancelled.
  static std::shared_ptr<Pending> Begin(
      std::function<absl::StatusOr<T>(const CallContext& context)> call) {
    std::shared_ptr<Pending> pending(new Pending());
    RunElsewhere([pending, call = std::move(call)] {
      pending->result_ = call(CallContext(absl::InfiniteFuture(), &pending->cancelled_, nullptr));
      pending->done_.Notify();
    });
    return pending;
  }

  // To be called once at most.
  void Cancel() { cancelled_.Notify(); }

  // Waits for the end, with a timeout as WMI gives it: milliseconds, or -1 (WBEM_INFINITE). Returns
  // whether the end has come.
  bool Wait(long timeout) {
    if (timeout >= 0) return done_.WaitForNotificationWithTimeout(absl::Milliseconds(timeout));
    done_.WaitForNotification();
    return true;
  }

  // After the end.
  const absl::StatusOr<T>& result() const { return result_; }

 private:
  Pending() = default;

  absl::Notification cancelled_;
  absl::Notification done_;
  // Set before `done_`.
  absl::StatusOr<T> result_;
};

}  // namespace csi_proxy::node_double

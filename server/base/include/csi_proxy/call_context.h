// The context of a call: its deadline, its cancellation and its caller. Passed by const reference
// from the shim through the handler to the host; every wait on that way uses it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace csi_proxy {

// The process at the other end of a call.
struct Peer {
  // The process id; 0 when unknown. An embedded call has its own process's.
  int64_t process_id = 0;
  // The path of the process's image, empty when unknown.
  std::string image_path;
  // Identifies the tenant whose limits the client shares (TenantOf() of base/peer_process.h). Only
  // good for comparison. Empty when unknown.
  std::string tenant = {};
};

// The worker slot that a call occupies.
class WorkingPlace {
 public:
  // Gives the slot to another call, while this call goes on without one. Does nothing if too many
  // calls do so already, or if this call has done so. REQUIRES: called on the call's own thread.
  virtual void Leave() = 0;

 protected:
  ~WorkingPlace() = default;
};

// Immutable, hence thread-safe. Refers to the objects that it was made from, which must outlive it.
class CallContext {
 public:
  // Creates a context without deadline, cancellation or known peer.
  CallContext() = default;

  // `cancelled`, if not null, is notified when the caller goes away. `peer` and `place` may be
  // null. `pipe` must be a constant.
  explicit CallContext(absl::Time deadline, const absl::Notification* cancelled = nullptr,
                       const Peer* peer = nullptr, const char* pipe = "",
                       WorkingPlace* place = nullptr)
      : deadline_(deadline), cancelled_(cancelled), peer_(peer), pipe_(pipe), place_(place) {}

  // Returns the time by which the answer is due; absl::InfiniteFuture() for none.
  absl::Time deadline() const { return deadline_; }

  // Returns the caller, a default Peer when unknown.
  const Peer& peer() const;

  // Returns the pipe through which the call came, `csi-proxy-volume-v1`; empty for none.
  const char* pipe() const { return pipe_; }

  // Returns true if the caller has gone away.
  bool cancelled() const { return cancelled_ != nullptr && cancelled_->HasBeenNotified(); }

  // Returns true if cancelled() can ever become true.
  bool cancellable() const { return cancelled_ != nullptr; }

  // Returns CANCELLED or DEADLINE_EXCEEDED if the call has ended, else OK. Must be called before
  // each step that changes the node.
  absl::Status Check() const;

  // Waits for `duration`, or until the call ends. Returns Check().
  absl::Status SleepFor(absl::Duration duration) const;

  // Leaves the worker slot, so that another call can run. Must be called before the call waits for
  // something that this node cannot hasten: a lock that another call holds, or a server, which may
  // be dead.
  void LeavePlace() const {
    if (place_ != nullptr) place_->Leave();
  }

  // Returns a copy for a call of `peer` through `pipe`.
  CallContext From(const Peer* peer, const char* pipe) const {
    return CallContext(deadline_, cancelled_, peer, pipe, place_);
  }

  // Returns a copy for a call that occupies `place`.
  CallContext At(WorkingPlace* place) const {
    return CallContext(deadline_, cancelled_, peer_, pipe_, place);
  }

  // Returns a copy whose deadline is at most `time`.
  CallContext NoLaterThan(absl::Time time) const;

  // Returns a copy whose deadline is at most `limit` from now.
  CallContext WithTimeout(absl::Duration limit) const;

 private:
  absl::Time deadline_ = absl::InfiniteFuture();
  const absl::Notification* cancelled_ = nullptr;
  const Peer* peer_ = nullptr;
  const char* pipe_ = "";
  WorkingPlace* place_ = nullptr;
};

}  // namespace csi_proxy

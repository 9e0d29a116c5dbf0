// A call carries this besides its request: how long it may take, whether anybody still waits for
// the answer, and who asked. It is passed by const reference from the shim through the handler to
// the host, and everything on that way that can wait waits through it.
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
  // The process id, 0 when unknown (embedded calls carry the own process's).
  int64_t process_id = 0;
  // The path of the process's image, empty when unknown.
  std::string image_path;
  // Identifies the tenant whose limits the client shares (TenantOf() of base/peer_process.h); good
  // for comparison only. Empty when unknown.
  std::string tenant = {};
};

// The place at which a call works. A server has only so many.
class WorkingPlace {
 public:
  // Gives the place to another call; the rest of this call goes on without one. Does nothing when
  // too many calls go on so already. Called on the call's thread, any number of times.
  virtual void Leave() = 0;

 protected:
  ~WorkingPlace() = default;
};

// Thread-safe: all members are const. Refers to the objects that it was made from, and must not
// outlive them.
class CallContext {
 public:
  // No deadline, never cancelled, peer unknown.
  CallContext() = default;

  // `cancelled`, when not null, is notified once the caller is gone. `peer` and `place` may be
  // null. `pipe` is a constant.
  explicit CallContext(absl::Time deadline, const absl::Notification* cancelled = nullptr,
                       const Peer* peer = nullptr, const char* pipe = "",
                       WorkingPlace* place = nullptr)
      : deadline_(deadline), cancelled_(cancelled), peer_(peer), pipe_(pipe), place_(place) {}

  // The time by which the answer is due; absl::InfiniteFuture() for none.
  absl::Time deadline() const { return deadline_; }

  // The caller; a default Peer when unknown.
  const Peer& peer() const;

  // The pipe through which the call came, `csi-proxy-volume-v1`; empty for none.
  const char* pipe() const { return pipe_; }

  // Tells whether the caller went away.
  bool cancelled() const { return cancelled_ != nullptr && cancelled_->HasBeenNotified(); }

  // Tells whether that can be noticed at all.
  bool cancellable() const { return cancelled_ != nullptr; }

  // OK, or CANCELLED or DEADLINE_EXCEEDED when there is no point in going on.
  // To be called before each step that changes the node.
  absl::Status Check() const;

  // Waits for `duration`, or less when the call ends before; then as Check().
  absl::Status SleepFor(absl::Duration duration) const;

  // To be called before the call waits for something that no work of this node can hasten: for a
  // lock that another call holds, or for a server, which may be dead. Meanwhile another call has
  // its place.
  void LeavePlace() const {
    if (place_ != nullptr) place_->Leave();
  }

  // The same call as made by `peer` through `pipe`.
  CallContext From(const Peer* peer, const char* pipe) const {
    return CallContext(deadline_, cancelled_, peer, pipe, place_);
  }

  // The same call as made at `place`.
  CallContext At(WorkingPlace* place) const {
    return CallContext(deadline_, cancelled_, peer_, pipe_, place);
  }

  // The same call with a deadline no later than `time`.
  CallContext NoLaterThan(absl::Time time) const;

  // The same call with a deadline no later than `limit` from now.
  CallContext WithTimeout(absl::Duration limit) const;

 private:
  absl::Time deadline_ = absl::InfiniteFuture();
  const absl::Notification* cancelled_ = nullptr;
  const Peer* peer_ = nullptr;
  const char* pipe_ = "";
  WorkingPlace* place_ = nullptr;
};

}  // namespace csi_proxy

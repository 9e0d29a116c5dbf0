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

// Holds the worker slot of a call. A server runs as many calls at once as it has slots. For the
// thread of the call alone, which uses it through YieldSlot.
class SlotHolder {
 protected:
  ~SlotHolder() = default;

 private:
  friend class YieldSlot;

  // Gives the slot to another call.
  virtual void Lend() = 0;
  // Waits until this call has a slot again. REQUIRES: no call that has a slot waits for this one.
  virtual void Reclaim() {}

  // The number of YieldSlots that live.
  int yields_ = 0;
};

// Immutable, hence thread-safe. Refers to the objects that it was made from, which must outlive it.
class CallContext {
 public:
  // Creates a context without deadline, cancellation or known peer.
  CallContext() = default;

  // `cancelled`, if not null, is notified when the caller goes away. `peer` and `slot` may be null.
  // `pipe` must be a constant.
  explicit CallContext(absl::Time deadline, const absl::Notification* cancelled = nullptr,
                       const Peer* peer = nullptr, const char* pipe = "",
                       SlotHolder* slot = nullptr)
      : deadline_(deadline), cancelled_(cancelled), peer_(peer), pipe_(pipe), slot_(slot) {}

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

  // Waits for `duration` without a worker slot, or until the call ends. Returns Check().
  absl::Status SleepFor(absl::Duration duration) const;

  // Returns a copy for a call of `peer` through `pipe`.
  CallContext From(const Peer* peer, const char* pipe) const {
    return CallContext(deadline_, cancelled_, peer, pipe, slot_);
  }

  // Returns a copy for a call with the worker slot of `slot`.
  CallContext With(SlotHolder* slot) const {
    return CallContext(deadline_, cancelled_, peer_, pipe_, slot);
  }

  // Returns a copy whose deadline is at most `time`.
  CallContext NoLaterThan(absl::Time time) const;

  // Returns a copy whose deadline leaves time for what must follow: one `part`th of the time left,
  // at most `most`. REQUIRES: part > 0.
  CallContext Leaving(int part, absl::Duration most) const;

  // Returns a copy whose deadline is at most `limit` from now.
  CallContext WithTimeout(absl::Duration limit) const;

 private:
  friend class YieldSlot;

  absl::Time deadline_ = absl::InfiniteFuture();
  const absl::Notification* cancelled_ = nullptr;
  const Peer* peer_ = nullptr;
  const char* pipe_ = "";
  SlotHolder* slot_ = nullptr;
};

// Lends the worker slot of a call to other calls while this object lives. The destructor waits for
// a slot. Put one around every wait for Windows, a server or a lock. They nest: the outermost
// counts.
//
// REQUIRES: the thread holds no mutex when the object is destroyed. A ResourceLocks::Lock is none,
// because a call that waits for one has no slot.
class YieldSlot {
 public:
  explicit YieldSlot(const CallContext& context) : slot_(context.slot_) {
    if (slot_ != nullptr && slot_->yields_++ == 0) slot_->Lend();
  }
  ~YieldSlot() {
    if (slot_ != nullptr && --slot_->yields_ == 0) slot_->Reclaim();
  }
  YieldSlot(const YieldSlot&) = delete;
  YieldSlot& operator=(const YieldSlot&) = delete;

 private:
  SlotHolder* const slot_;
};

}  // namespace csi_proxy

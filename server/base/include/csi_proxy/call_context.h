// The context of a call: deadline, cancellation and caller. It is passed by const reference from
// the shim through the handler to the host, and every wait on the way must use it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"

namespace csi_proxy {

// The process at the other end of a call.
struct Peer {
  // The process id; 0 if unknown. An embedded call has the id of its own process.
  int64_t process_id = 0;
  // The path of the process's image; empty if unknown.
  std::string image_path;
  // The tenant of the process (TenantOf() of platform/peer_process.h). Processes of one tenant
  // share limits. An opaque text, only to be compared. Empty if unknown.
  std::string tenant = {};
};

// Holds the worker slot of a call; a server runs at most as many calls as it has slots. Used only
// by the call's own thread, through YieldSlot.
class SlotHolder {
 protected:
  ~SlotHolder() = default;

 private:
  friend class YieldSlot;

  // Lends the slot to another call.
  virtual void Lend() = 0;
  // Waits until this call has a slot again. REQUIRES: no call with a slot waits for this call.
  virtual void Reclaim() {}

  // The number of live YieldSlot objects.
  int yields_ = 0;
};

// Immutable, hence thread-safe. The objects passed to the constructor must outlive the context and
// its copies.
class CallContext {
 public:
  // Creates a context without deadline, cancellation or known peer.
  CallContext() = default;

  // `cancelled`, if not null, is notified when the caller cancels the call or disconnects. `peer`
  // and `slot` may be null. REQUIRES: `pipe` is a string constant.
  explicit CallContext(SteadyTime deadline, const absl::Notification* cancelled = nullptr,
                       const Peer* peer = nullptr, const char* pipe = "",
                       SlotHolder* slot = nullptr)
      : deadline_(deadline), cancelled_(cancelled), peer_(peer), pipe_(pipe), slot_(slot) {}

  // Does the same for a deadline by the wall clock. Converts `deadline` now, so later steps of the
  // wall clock do not move the context's deadline.
  explicit CallContext(absl::Time deadline, const absl::Notification* cancelled = nullptr,
                       const Peer* peer = nullptr, const char* pipe = "",
                       SlotHolder* slot = nullptr)
      : CallContext(SteadyTime::Now() + (deadline - absl::Now()), cancelled, peer, pipe, slot) {}

  // Returns the time by which the answer is due, or SteadyTime::InfiniteFuture().
  SteadyTime deadline() const { return deadline_; }

  // Returns the caller, or a default Peer if unknown.
  const Peer& peer() const;

  // Returns the pipe of the call, `csi-proxy-volume-v1`; empty for a call without a pipe.
  const char* pipe() const { return pipe_; }

  // Returns the call's valid W3C traceparent, or an empty text.
  absl::string_view traceparent() const { return traceparent_; }

  // Returns the ids of the trace and the caller's span, `<32 hex>-<16 hex>`; empty if unknown.
  absl::string_view trace() const {
    return traceparent_.empty() ? traceparent_ : traceparent_.substr(3, 49);
  }

  // Returns true if the caller has cancelled the call or disconnected.
  bool cancelled() const { return cancelled_ != nullptr && cancelled_->HasBeenNotified(); }

  // Returns true if cancelled() can ever become true.
  bool cancellable() const { return cancelled_ != nullptr; }

  // Returns CANCELLED or DEADLINE_EXCEEDED if the call has ended, else OK. Must be called before
  // each step that changes the node.
  absl::Status Check() const;

  // Yields the worker slot and sleeps for `duration` or until the call ends. Returns Check().
  absl::Status SleepFor(absl::Duration duration) const;

  // Returns a copy for a call of `peer` through `pipe`.
  CallContext From(const Peer* peer, const char* pipe) const {
    CallContext context = *this;
    context.peer_ = peer;
    context.pipe_ = pipe;
    return context;
  }

  // Returns a copy that yields its worker slot through `slot`, which may be null.
  CallContext With(SlotHolder* slot) const {
    CallContext context = *this;
    context.slot_ = slot;
    return context;
  }

  // Returns a copy with this traceparent, or without one if the text is not valid in version 00
  // (w3.org/TR/trace-context/#traceparent-header). The text must outlive the copy.
  CallContext Traced(absl::string_view traceparent) const;

  // Returns a copy with a deadline of at most `time`.
  CallContext NoLaterThan(SteadyTime time) const;

  // Returns a copy whose deadline is earlier by 1/`part` of the time left, or by `most` if that is
  // less. That time is left for the caller's remaining steps. REQUIRES: part > 0.
  CallContext Leaving(int part, absl::Duration most) const;

  // Returns a copy with a deadline of at most `limit` from now.
  CallContext WithTimeout(absl::Duration limit) const;

  // Returns a copy for undoing the call's steps, even if the call has ended: the copy is never
  // cancelled, and its deadline is `limit` from now. Caller, pipe, slot and trace stay.
  CallContext Afterwards(absl::Duration limit) const;

 private:
  friend class YieldSlot;

  SteadyTime deadline_ = SteadyTime::InfiniteFuture();
  const absl::Notification* cancelled_ = nullptr;
  const Peer* peer_ = nullptr;
  const char* pipe_ = "";
  SlotHolder* slot_ = nullptr;
  absl::string_view traceparent_;
};

// Lends the worker slot of a call to other calls while this object lives; the destructor waits for
// a slot. Must surround every wait for Windows, a server or a lock. May be nested: only the
// outermost object has an effect.
//
// REQUIRES: the thread holds no mutex when the object is destroyed. A ResourceLocks::Lock is
// allowed, because a call that waits for one has no slot.
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

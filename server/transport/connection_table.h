// The connections of a listener: which are silent, which are served and by whom they were opened,
// and whether there is room for one more. What the listeners of all platforms have in common.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/transport/listener.h"

namespace csi_proxy::transport {

// A connection that has not sent its preface. Listeners derive from it what they keep of one.
struct SilentConnection {
  size_t pipe = 0;  // its index
  // The table's: whether it is listed, and where.
  bool listed = false;
  absl::Time deadline{};
  std::list<SilentConnection*>::iterator place{};
};

// Thread-safe; but whoever may close silent connections does so, and calls what concerns them, on
// one thread or under a lock of their own.
class ConnectionTable {
 public:
  // A counter of ListenerCounters.
  using Counter = uint64_t ListenerCounters::*;

  explicit ConnectionTable(ListenerLimits limits) : limits_(limits) {}

  // Lists a new connection until its preface is due. At the limit of its pipe it takes the place of
  // the oldest silent one there, which is then `displaced`, not listed any more and for the caller
  // to close. False: there is none, and the new one is not listed.
  bool Admit(SilentConnection* connection, SilentConnection** displaced);

  // Takes a listed connection off the list: it is closed, or about to be.
  void Drop(SilentConnection* connection, Counter counter = nullptr);

  // Takes off the list, and returns, one whose preface is overdue; null when there is none.
  SilentConnection* DropOverdue(absl::Time now);
  // The oldest of all pipes', for want of descriptors.
  SilentConnection* DropOldest();

  // When the next preface is overdue.
  absl::Time next_deadline() const;

  // A listed connection has sent its preface: it is live from now until End().
  void Promote(SilentConnection* connection);
  // A live connection is served under the transport's name `address`; `hang_up` ends it.
  void Serve(std::string address, std::shared_ptr<const Peer> peer, std::function<void()> hang_up);
  // A live connection has ended. `peer` tells it from a newer one of the same address.
  void End(size_t pipe, const std::string& address, const std::shared_ptr<const Peer>& peer);
  // Ends all served connections.
  void HangUp();

  // The peer of a served connection; null when it has ended.
  std::shared_ptr<const Peer> Find(absl::string_view address) const;

  void Count(Counter counter);
  // A live connection is ended for this. How many have been so far.
  uint64_t Count(Http2Violation violation);
  ListenerCounters counters() const;

 private:
  struct Served {
    std::shared_ptr<const Peer> peer;
    std::function<void()> hang_up;
  };

  void Unlist(SilentConnection* connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SilentConnection* DropFirst(Counter counter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ListenerLimits limits_;
  mutable absl::Mutex mutex_;
  ListenerCounters counters_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> connections_ ABSL_GUARDED_BY(mutex_);      // silent and served, by pipe
  std::list<SilentConnection*> silent_ ABSL_GUARDED_BY(mutex_);  // the oldest in front
  std::unordered_map<std::string, Served> served_ ABSL_GUARDED_BY(mutex_);  // by address
};

}  // namespace csi_proxy::transport

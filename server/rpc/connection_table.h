// The connections of a listener: which are silent, which are served, whose they are, and whether
// there is room for one more. The listeners of all platforms share this.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/condition.h"
#include "server/rpc/client.h"
#include "server/rpc/http2_guard.h"
#include "server/rpc/runtime.h"

namespace csi_proxy::rpc {

struct ListenerLimits {
  // The time that a connection may stay silent before the HTTP/2 preface.
  absl::Duration preface_timeout = absl::Seconds(10);
  // Open connections per pipe. At the limit a connection of the client that has most of them makes
  // room for a new one: a silent one, or else one that has never made a call, or else one that has
  // made none for long. When calls are under way on all, the new one is closed.
  size_t max_connections = 1024;
  // One tenant may have this percentage of the connections that other tenants leave; when it has
  // several clients, one of them may have this percentage of those. Beyond that the tenant's own
  // connections make room.
  size_t client_share = 75;
};

// Counts since the start, over all pipes.
struct ListenerCounters {
  uint64_t accepted = 0;
  uint64_t adopted = 0;          // sent the preface and went to a server
  uint64_t dropped_silent = 0;   // closed at the preface deadline
  uint64_t dropped_garbage = 0;  // closed for other first bytes
  // New or silent, and closed for a limit of ListenerLimits or a lack of descriptors.
  uint64_t dropped_for_room = 0;
  uint64_t dropped_barred = 0;  // new, of a client that is barred (Http2Limits)
  uint64_t ended_for_room = 0;  // idle with a server, and ended for the same
  // Served, and ended by the guard, by Http2Violation.
  std::array<uint64_t, kHttp2Violations> violations{};
  size_t silent = 0;  // open now, before the preface
  size_t live = 0;    // open now, with a server
};

// A connection that has not sent its preface. Listeners derive from it what they keep of one.
struct SilentConnection {
  size_t pipe = 0;  // its index
  // The client of the connection; never null.
  std::shared_ptr<Client> client;
  // The table's: whether it is listed, and where.
  bool listed = false;
  absl::Time deadline{};
  std::list<SilentConnection*>::iterator place{};
  std::list<SilentConnection*>::iterator place_at_client{};
};

// A connection that has sent its preface and is served, and the calls that came over it.
// Thread-safe.
class ServedConnection {
 public:
  explicit ServedConnection(std::shared_ptr<Client> client) : client_(std::move(client)) {}
  ServedConnection(const ServedConnection&) = delete;
  ServedConnection& operator=(const ServedConnection&) = delete;

  const std::shared_ptr<Client>& client() const { return client_; }

  void CallBegins() {
    calls_.fetch_add(1, std::memory_order_relaxed);
    used_.store(true, std::memory_order_relaxed);
  }
  void CallEnds() { calls_.fetch_sub(1, std::memory_order_relaxed); }

  // True for one of the connections that a client has to the pipe, which may have more calls under
  // way than the others (ServerLimits).
  bool is_main() const { return is_main_; }

  // Tells whether a call is under way.
  bool busy() const { return calls_.load(std::memory_order_relaxed) > 0; }
  // Tells whether a call has begun since it was asked last.
  bool TakeUsed() { return used_.exchange(false, std::memory_order_relaxed); }

 private:
  friend class ConnectionTable;
  const std::shared_ptr<Client> client_;
  std::atomic<int> calls_ = 0;
  std::atomic<bool> used_ = false;
  // The table's: what ends it, and where it is listed.
  size_t pipe_ = 0;
  bool is_main_ = false;
  std::string address_;
  std::function<void()> hang_up_;
  std::list<ServedConnection*>* list_ = nullptr;
  std::list<ServedConnection*>::iterator place_{};
};

// Thread-safe; but a listener must close silent connections, and make the calls about them, on one
// thread or under a lock of its own.
//
// The tenant that has most makes room, and in it the client that has most, never the one that came
// first: a client that has little is let in as long as anybody who has more has a connection
// without a call under way. Such a connection is not missed: clients redial with their next call,
// and grpc-go since 1.41 not before (https://github.com/grpc/grpc-go/pull/4613). For want of room
// only: a driver that connects when it starts and calls much later is not made to redial over and
// over.
class ConnectionTable {
 public:
  // A counter of ListenerCounters.
  using Counter = uint64_t ListenerCounters::*;

  // `observers` are told of clients at their limit, and not owned.
  explicit ConnectionTable(ListenerLimits limits, std::vector<CallObserver*> observers = {})
      : limits_(limits), observers_(std::move(observers)) {}

  // Lists a new connection until its preface is due. Another may have to make room for it: a served
  // one is hung up, a silent one is `displaced`, not listed any more and for the caller to close.
  // False: there is no room, and the new one is not listed.
  bool Admit(SilentConnection* connection, SilentConnection** displaced);

  // Makes room for want of descriptors, as Admit() does, at the client that has most connections
  // of any pipe. False: all have calls under way.
  bool MakeRoom(SilentConnection** displaced);

  // Takes a listed connection off the list: it is closed, or about to be.
  void Drop(SilentConnection* connection, Counter counter = nullptr);

  // Takes off the list, and returns, one whose preface is overdue; null when there is none.
  SilentConnection* DropOverdue(absl::Time now);

  // The time at which the next preface is overdue.
  absl::Time next_deadline() const;

  // A listed connection has sent its preface: it is live from now on, and Serve() follows.
  void Promote(SilentConnection* connection);
  // A live connection is served under the transport's name `address` until End(); `hang_up` ends
  // it, and is called under the table's lock.
  std::shared_ptr<ServedConnection> Serve(size_t pipe, std::string address,
                                          std::shared_ptr<Client> client,
                                          std::function<void()> hang_up);
  // A served connection has ended.
  void End(const std::shared_ptr<ServedConnection>& connection);
  // Ends all served connections.
  void HangUp();

  // The served connection that gRPC calls `address`; null when it has ended.
  std::shared_ptr<ServedConnection> Find(absl::string_view address) const;

  void Count(Counter counter);
  // Counts a live connection that is ended for this; returns how many have been so far.
  uint64_t Count(Http2Violation violation);
  ListenerCounters counters() const;

 private:
  // A client's part of a pipe. The front of each list goes first.
  struct Share {
    size_t connections = 0;
    bool has_main = false;
    std::list<SilentConnection*> silent;
    std::list<ServedConnection*> fresh;  // have made no call when last looked at
    std::list<ServedConnection*> used;
  };
  struct Pipe {
    size_t connections = 0;
    std::unordered_map<Client*, Share> shares;
    // The number of connections of each tenant.
    std::unordered_map<const Tenant*, size_t> tenants;
  };
  // A client that may have to make room, and its part.
  struct Rival {
    size_t of_tenant;
    Share* share;
  };
  struct HashOfAddress : std::hash<std::string_view> {
    using is_transparent = void;
  };

  // These are called with the lock held.
  Pipe& PipeOf(size_t index);
  // Returns how many connections of the pipe the client's tenant has.
  static size_t OfTenant(const Pipe& pipe, const Client& client);
  // Lists it, or says whose connections are too many: those of the client that made room, or was
  // refused.
  bool TryAdmit(SilentConnection* connection, SilentConnection** displaced,
                std::shared_ptr<Client>* limited);
  // Lets a connection of `share` make room for one of `newcomer`, and returns its client; null when
  // none could.
  std::shared_ptr<Client> MakeRoomAt(Share& share, Client* newcomer, SilentConnection** displaced);
  // The same, of one of them, the largest first.
  std::shared_ptr<Client> MakeRoomAtOneOf(std::vector<Rival> rivals, Client* newcomer,
                                          SilentConnection** displaced);
  void Unlist(SilentConnection* connection);
  void Unlist(ServedConnection* connection);
  Share& Take(size_t pipe, Client* client);
  void Give(size_t pipe, Client* client);

  // Called without it.
  void Tell(const std::shared_ptr<Client>& limited);

  const ListenerLimits limits_;
  const std::vector<CallObserver*> observers_;
  // Guards the rest.
  mutable Mutex mutex_;
  ListenerCounters counters_;
  std::vector<Pipe> pipes_;
  std::list<SilentConnection*> silent_;  // the oldest in front
  std::unordered_map<std::string, std::shared_ptr<ServedConnection>, HashOfAddress,
                     std::equal_to<>>
      served_;  // by address
};

}  // namespace csi_proxy::rpc

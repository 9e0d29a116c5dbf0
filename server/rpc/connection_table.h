// Keeps the connections of a listener by tenant, and decides whether one more may be admitted. The
// listeners of all platforms use this table.
//
// A connection is  from       to
// silent           Admit()    Promote(), at its preface; DropOverdue(), Drop() or an eviction
// live             Promote()  End()
// served and live  Serve()    End(), or an eviction, after which the table does not count it
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/calls/call_deps.h"
#include "server/rpc/client.h"
#include "server/transport/account.h"

namespace csi_proxy::rpc {

struct ListenerLimits {
  // The time that a connection may stay silent before the HTTP/2 preface.
  absl::Duration preface_timeout = absl::Seconds(10);
  // The maximum of open connections of a pipe. At the limit a new connection evicts a connection of
  // the tenant that has the most: a silent one, else one that has never made a call, else one
  // without a recent call. If no connection may be evicted, the new connection is closed.
  size_t max_connections = 1024;
  // The percentage by which MayTakeOneMore() (tenant_part.h) limits a tenant's part of a pipe's
  // connections. A new connection beyond that part evicts another connection of the tenant.
  size_t client_share = 75;
  // The maximum of connections of a tenant to all pipes together. A new connection beyond it evicts
  // another connection of the tenant. A listener may lower this limit.
  size_t max_connections_of_tenant = 2048;
  // A connection without calls for this time is closed; clients redial with their next call.
  absl::Duration idle_timeout = absl::Hours(1);
};

// Counts since the start, over all pipes.
struct ListenerCounters {
  uint64_t accepted = 0;
  uint64_t adopted = 0;          // sent the preface, see Promote()
  uint64_t dropped_silent = 0;   // closed at the preface deadline, or because the process had ended
  uint64_t dropped_garbage = 0;  // closed because the first bytes were not the preface
  // New or silent connections, closed at a limit or for lack of descriptors, threads or memory.
  uint64_t dropped_for_room = 0;
  uint64_t dropped_barred = 0;  // new, closed because the client is barred (Http2Limits)
  uint64_t ended_for_room = 0;  // served, without a call, and evicted
  // Served connections that were ended for their frames, by Http2Violation.
  std::array<uint64_t, kHttp2Violations> violations{};
  size_t silent = 0;  // open now
  size_t live = 0;    // open now

  // Returns the counts since the start, each with its `outcome` label.
  std::vector<std::pair<std::string, uint64_t>> Outcomes() const;
};

// A connection that has not sent its preface. Listeners derive their own record from it.
struct ConnectionBeforePreface {
  size_t pipe = 0;  // the pipe's index
  // The client of the connection; never null.
  std::shared_ptr<Client> client;
  // The table sets the next four: whether the connection is listed, until when it may be silent,
  // and its places in the lists.
  bool listed = false;
  SteadyTime deadline{};
  std::list<ConnectionBeforePreface*>::iterator place{};
  std::list<ConnectionBeforePreface*>::iterator place_at_client{};
};

// A live connection, which has sent its preface, and the state of its calls. Thread-safe.
class ServedConnection {
 public:
  // How the table ends the connection.
  struct End {
    // Ends the connection immediately. Called under the table's lock; must not take that lock.
    std::function<void()> hang_up;
    // Ends the connection after the calls under way. If `only_if_idle`, does not end a connection
    // with calls under way.
    std::function<void(bool only_if_idle)> go_away;
  };

  ServedConnection(std::shared_ptr<Client> client, size_t pipe)
      : client_(std::move(client)), pipe_(pipe) {}
  ServedConnection(const ServedConnection&) = delete;
  ServedConnection& operator=(const ServedConnection&) = delete;

  const std::shared_ptr<Client>& client() const { return client_; }

  void BeginCall() {
    calls_.fetch_add(1, std::memory_order_relaxed);
    used_.store(true, std::memory_order_relaxed);
  }
  void EndCall() {
    last_used_.store(Http2Time::clock::now(), std::memory_order_relaxed);
    calls_.fetch_sub(1, std::memory_order_relaxed);
  }

  // Returns true for the client's one main connection to the pipe. The main connection may have
  // more calls under way than the client's further connections (ServerLimits).
  bool is_main() const { return is_main_; }

  // Returns true if a call is under way.
  bool busy() const { return calls_.load(std::memory_order_relaxed) > 0; }
  // Returns true if a call has begun since the last TakeUsed().
  bool TakeUsed() { return used_.exchange(false, std::memory_order_relaxed); }
  // Returns the time at which the last call ended, or the time of the preface if no call has ended.
  Http2Time last_used() const { return last_used_.load(std::memory_order_relaxed); }

 private:
  friend class ConnectionTable;
  const std::shared_ptr<Client> client_;
  const size_t pipe_;
  std::atomic<int> calls_ = 0;
  std::atomic<bool> used_ = false;
  std::atomic<Http2Time> last_used_ = Http2Time::clock::now();
  // Set by the table: is_main(), how to end the connection, and its place in a list.
  bool is_main_ = false;
  End end_;
  std::list<ServedConnection*>* list_ = nullptr;
  std::list<ServedConnection*>::iterator place_{};
};

// Thread-safe. REQUIRES: on one thread, or under a lock of its own, a listener closes silent
// connections and calls the functions that take or return a ConnectionBeforePreface.
//
// At a limit, the table evicts a connection without a call under way. At a tenant's limit it evicts
// from that tenant. When a pipe is full, it evicts from the tenant with the most connections, so
// that a tenant with few connections is admitted. Of the tenant's connections it chooses a silent
// one (preferably of the incoming process), else one that has never made a call, else one without a
// recent call. The eviction does no harm: the evicted client redials with its next call. Since 1.41
// grpc-go does not redial earlier (https://github.com/grpc/grpc-go/pull/4613). While there is room,
// the table ends idle connections only after `idle_timeout`, so that a driver that connects at its
// start and calls before that need not redial.
class ConnectionTable {
 public:
  // A counter of ListenerCounters.
  using Counter = uint64_t ListenerCounters::*;

  // Reports clients at their limit to `observers`. These are not owned.
  explicit ConnectionTable(ListenerLimits limits, std::vector<CallObserver*> observers = {})
      : limits_(limits), observers_(std::move(observers)) {}

  // Lists a new connection as silent until its preface is due. May evict another connection: hangs
  // up a served one, or unlists a silent one and returns it in `*displaced`, which the caller must
  // close. Returns false, without listing, if the client is barred or there is no room.
  bool Admit(ConnectionBeforePreface* connection, ConnectionBeforePreface** displaced);

  // Frees a descriptor: evicts a connection of the tenant with the most connections to one pipe.
  // Sets `*displaced` as Admit() does. Returns false if no connection can be evicted.
  bool Evict(ConnectionBeforePreface** displaced);

  // Unlists a connection that is closed or about to be, and increments `counter` unless it is null.
  // REQUIRES: the connection is listed.
  void Drop(ConnectionBeforePreface* connection, Counter counter = nullptr);

  // Unlists and returns one connection with an overdue preface; null if there is none.
  ConnectionBeforePreface* DropOverdue(SteadyTime now);

  // Returns the time at which the next preface becomes overdue, or the infinite future.
  SteadyTime next_deadline() const;

  // Makes a connection live once its preface has arrived. It stays live until End(). The table
  // cannot evict it before Serve(). REQUIRES: the connection is listed.
  std::shared_ptr<ServedConnection> Promote(ConnectionBeforePreface* connection);
  // Lists a live connection as served. The table ends the connection with `end`.
  void Serve(const std::shared_ptr<ServedConnection>& connection, ServedConnection::End end);
  // Forgets a live connection that has ended, evicted or not.
  void End(const std::shared_ptr<ServedConnection>& connection);
  // Ends connections that have had no call for limits.idle_timeout. Returns when to check again.
  SteadyTime EndIdle(SteadyTime now);
  // Ends all served connections after their calls.
  void GoAway();
  // Ends all served connections immediately.
  void HangUp();
  // Waits until no connection is live. Returns false if a connection is live at `deadline`.
  bool AwaitNoneLive(SteadyTime deadline);

  void Count(Counter counter);
  // Counts a live connection that was ended for `violation`, and returns the count so far.
  uint64_t Count(Http2Violation violation);
  ListenerCounters counters() const;

 private:
  // A tenant's connections to a pipe. EvictFrom() looks at the front of each list first.
  struct Line {
    size_t connections = 0;
    std::list<ConnectionBeforePreface*> silent;
    std::list<ServedConnection*> fresh;  // had made no call at the last check
    std::list<ServedConnection*> used;
  };
  struct Pipe {
    size_t connections = 0;
    std::unordered_map<const Tenant*, Line> lines;
  };

  Pipe& PipeOf(size_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Line& LineOf(size_t pipe, const Client& client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Lists the connection, or returns false. Sets `*limited` to the incoming client if that client
  // is not barred, and its tenant or the pipe is at a limit.
  bool TryAdmit(ConnectionBeforePreface* connection, ConnectionBeforePreface** displaced,
                std::shared_ptr<Client>* limited) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Evicts a connection of `line` for a new connection of `incoming` (may be null). Returns the
  // evicted connection's client, or null if no connection of `line` can be evicted.
  std::shared_ptr<Client> EvictFrom(Line& line, Client* incoming,
                                    ConnectionBeforePreface** displaced)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls EvictFrom() for the `candidates`, the largest first, until a connection is evicted.
  std::shared_ptr<Client> EvictFromLargest(std::vector<Line*> candidates, Client* incoming,
                                           ConnectionBeforePreface** displaced)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unlist(ConnectionBeforePreface* connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unlist(ServedConnection* connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls go_away() of the connections that `chosen` accepts. Releases the lock before the calls.
  void GoAwayIf(bool only_if_idle, const std::function<bool(const ServedConnection&)>& chosen)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Line& Take(size_t pipe, Client* client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Give(size_t pipe, Client* client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void ReportLimit(const std::shared_ptr<Client>& limited) ABSL_LOCKS_EXCLUDED(mutex_);

  const ListenerLimits limits_;
  const std::vector<CallObserver*> observers_;
  mutable Mutex mutex_;
  ListenerCounters counters_ ABSL_GUARDED_BY(mutex_);
  std::vector<Pipe> pipes_ ABSL_GUARDED_BY(mutex_);
  // The oldest is in front.
  std::list<ConnectionBeforePreface*> silent_ ABSL_GUARDED_BY(mutex_);
  std::unordered_set<std::shared_ptr<ServedConnection>> served_ ABSL_GUARDED_BY(mutex_);
  SteadyTime look_again_ ABSL_GUARDED_BY(mutex_) = SteadyTime::InfinitePast();
  Condition one_ended_;
};

}  // namespace csi_proxy::rpc

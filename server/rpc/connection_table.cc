#include "server/rpc/connection_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "csi_proxy/steady_time.h"
#include "server/calls/tenant_part.h"

namespace csi_proxy::rpc {

ConnectionTable::Pipe& ConnectionTable::PipeOf(size_t index) {
  if (index >= pipes_.size()) pipes_.resize(index + 1);
  return pipes_[index];
}

std::vector<std::pair<std::string, uint64_t>> ListenerCounters::Outcomes() const {
  std::vector<std::pair<std::string, uint64_t>> outcomes = {{"accepted", accepted},
                                                            {"served", adopted},
                                                            {"dropped_silent", dropped_silent},
                                                            {"dropped_garbage", dropped_garbage},
                                                            {"dropped_for_room", dropped_for_room},
                                                            {"dropped_barred", dropped_barred},
                                                            {"ended_for_room", ended_for_room}};
  for (size_t i = 1; i < kHttp2Violations; ++i) {
    outcomes.emplace_back(absl::StrCat("ended_", kHttp2ViolationNames[i]), violations[i]);
  }
  return outcomes;
}

void ConnectionTable::ReportLimit(const std::shared_ptr<Client>& limited) {
  if (limited != nullptr) rpc::ReportLimit(observers_, *limited, Limit::kConnections);
}

bool ConnectionTable::Admit(ConnectionBeforePreface* connection,
                            ConnectionBeforePreface** displaced) {
  std::shared_ptr<Client> limited;
  bool admitted;
  {
    const MutexLock lock(mutex_);
    admitted = TryAdmit(connection, displaced, &limited);
  }
  ReportLimit(limited);
  return admitted;
}

bool ConnectionTable::TryAdmit(ConnectionBeforePreface* connection,
                               ConnectionBeforePreface** displaced,
                               std::shared_ptr<Client>* limited) {
  *displaced = nullptr;
  Pipe& pipe = PipeOf(connection->pipe);
  Client* const client = connection->client.get();
  const SteadyTime now = SteadyTime::Now();
  if (connection->client->barred()) {
    ++counters_.dropped_barred;
    return false;
  }
  const auto own = pipe.lines.find(client->tenant.get());
  const size_t of_tenant = own != pipe.lines.end() ? own->second.connections : 0;
  const bool pipe_is_full = pipe.connections >= limits_.max_connections;
  const bool tenant_is_full = !MayTakeOneMore(of_tenant, pipe.connections - of_tenant,
                                              limits_.max_connections, limits_.client_share);
  const bool is_full_everywhere = client->tenant->connections >= limits_.max_connections_of_tenant;
  const bool is_full_here = pipe_is_full || tenant_is_full;
  if (is_full_here || is_full_everywhere) {
    std::vector<Line*> candidates;
    for (Pipe& from : pipes_) {
      if (&from != &pipe && is_full_here) continue;
      for (auto& [owner, line] : from.lines) {
        const bool has_more = !is_full_everywhere && pipe_is_full && line.connections > of_tenant;
        if (owner == client->tenant.get() || has_more) candidates.push_back(&line);
      }
    }
    *limited = EvictFromLargest(std::move(candidates), client, displaced);
    if (*limited == nullptr) {
      *limited = connection->client;
      ++counters_.dropped_for_room;
      return false;
    }
    if (tenant_is_full || is_full_everywhere) *limited = connection->client;
  }
  Line& line = Take(connection->pipe, client);
  ++counters_.silent;
  connection->deadline = now + limits_.preface_timeout;
  connection->place = silent_.insert(silent_.end(), connection);
  connection->place_at_client = line.silent.insert(line.silent.end(), connection);
  connection->listed = true;
  return true;
}

bool ConnectionTable::Evict(ConnectionBeforePreface** displaced) {
  std::shared_ptr<Client> limited;
  *displaced = nullptr;
  {
    const MutexLock lock(mutex_);
    std::vector<Line*> candidates;
    for (Pipe& pipe : pipes_) {
      for (auto& [tenant, line] : pipe.lines) candidates.push_back(&line);
    }
    limited = EvictFromLargest(std::move(candidates), nullptr, displaced);
  }
  ReportLimit(limited);
  return limited != nullptr;
}

std::shared_ptr<Client> ConnectionTable::EvictFromLargest(std::vector<Line*> candidates,
                                                          Client* incoming,
                                                          ConnectionBeforePreface** displaced) {
  const auto smaller = [](const Line* a, const Line* b) { return a->connections < b->connections; };
  std::make_heap(candidates.begin(), candidates.end(), smaller);
  while (!candidates.empty()) {
    if (auto client = EvictFrom(*candidates.front(), incoming, displaced)) return client;
    std::pop_heap(candidates.begin(), candidates.end(), smaller);
    candidates.pop_back();
  }
  return nullptr;
}

std::shared_ptr<Client> ConnectionTable::EvictFrom(Line& line, Client* incoming,
                                                   ConnectionBeforePreface** displaced) {
  if (!line.silent.empty()) {
    // Prefers a silent connection of `incoming`, so that a process that dials fast does not end
    // those of another process of its tenant.
    const auto own = std::ranges::find_if(
        line.silent, [incoming](const auto* silent) { return silent->client.get() == incoming; });
    *displaced = own != line.silent.end() ? *own : line.silent.front();
    Unlist(*displaced);
    ++counters_.dropped_for_room;
    return (*displaced)->client;
  }
  while (!line.fresh.empty() && line.fresh.front()->TakeUsed()) {
    line.fresh.front()->list_ = &line.used;
    line.used.splice(line.used.end(), line.fresh, line.fresh.begin());
  }
  ServedConnection* idle = line.fresh.empty() ? nullptr : line.fresh.front();
  // A connection that was used since the last check moves to the list's end and is spared once.
  for (size_t looks = 2 * line.used.size(); idle == nullptr && looks > 0; --looks) {
    ServedConnection* const next = line.used.front();
    if (!next->TakeUsed() && !next->busy()) idle = next;
    line.used.splice(line.used.end(), line.used, line.used.begin());
  }
  if (idle == nullptr) return nullptr;
  ++counters_.ended_for_room;
  const bool unused = idle->list_ == &line.fresh;
  Unlist(idle);
  if (unused && incoming != nullptr && idle->client()->tenant == incoming->tenant) {
    incoming->http2.CountDiscarded(Http2Time::clock::now());
  }
  idle->end_.hang_up();
  return idle->client();
}

ConnectionTable::Line& ConnectionTable::LineOf(size_t pipe, const Client& client) {
  return pipes_[pipe].lines[client.tenant.get()];
}

ConnectionTable::Line& ConnectionTable::Take(size_t pipe, Client* client) {
  ++pipes_[pipe].connections;
  ++client->tenant->connections;
  Line& line = LineOf(pipe, *client);
  ++line.connections;
  return line;
}

void ConnectionTable::Give(size_t pipe, Client* client) {
  --pipes_[pipe].connections;
  --client->tenant->connections;
  if (--LineOf(pipe, *client).connections == 0) pipes_[pipe].lines.erase(client->tenant.get());
}

void ConnectionTable::Unlist(ConnectionBeforePreface* connection) {
  Client* const client = connection->client.get();
  silent_.erase(connection->place);
  LineOf(connection->pipe, *client).silent.erase(connection->place_at_client);
  connection->listed = false;
  --counters_.silent;
  Give(connection->pipe, client);
}

// Stops counting the connection immediately, although it may take a moment to end.
void ConnectionTable::Unlist(ServedConnection* connection) {
  if (connection->list_ == nullptr) return;
  connection->list_->erase(connection->place_);
  connection->list_ = nullptr;
  if (connection->is_main_) connection->client()->pipes_with_main.erase(connection->pipe_);
  Give(connection->pipe_, connection->client().get());
}

void ConnectionTable::Drop(ConnectionBeforePreface* connection, Counter counter) {
  const MutexLock lock(mutex_);
  Unlist(connection);
  if (counter != nullptr) ++(counters_.*counter);
}

ConnectionBeforePreface* ConnectionTable::DropOverdue(SteadyTime now) {
  const MutexLock lock(mutex_);
  if (silent_.empty() || silent_.front()->deadline > now) return nullptr;
  ConnectionBeforePreface* const first = silent_.front();
  Unlist(first);
  ++counters_.dropped_silent;
  return first;
}

SteadyTime ConnectionTable::next_deadline() const {
  const MutexLock lock(mutex_);
  return silent_.empty() ? SteadyTime::InfiniteFuture() : silent_.front()->deadline;
}

std::shared_ptr<ServedConnection> ConnectionTable::Promote(ConnectionBeforePreface* connection) {
  auto live = std::make_shared<ServedConnection>(connection->client, connection->pipe);
  const MutexLock lock(mutex_);
  // The connection still counts for its client, but is in no list until it is served.
  Take(connection->pipe, connection->client.get());
  live->is_main_ = connection->client->pipes_with_main.insert(connection->pipe).second;
  Unlist(connection);
  ++counters_.live;
  ++counters_.adopted;
  return live;
}

void ConnectionTable::Serve(const std::shared_ptr<ServedConnection>& connection,
                            ServedConnection::End end) {
  const MutexLock lock(mutex_);
  connection->end_ = std::move(end);
  Line& line = LineOf(connection->pipe_, *connection->client());
  connection->list_ = &line.fresh;
  connection->place_ = line.fresh.insert(line.fresh.end(), connection.get());
  served_.insert(connection);
}

void ConnectionTable::End(const std::shared_ptr<ServedConnection>& connection) {
  ServedConnection::End end;  // destroyed without the lock, with its captures
  const MutexLock lock(mutex_);
  Unlist(connection.get());
  --counters_.live;
  served_.erase(connection);
  end = std::move(connection->end_);
  connection->end_ = {};
  one_ended_.NotifyAll();
}

void ConnectionTable::GoAwayIf(bool only_if_idle,
                               const std::function<bool(const ServedConnection&)>& chosen) {
  std::vector<std::function<void(bool)>> going;
  {
    const MutexLock lock(mutex_);
    for (const auto& served : served_) {
      if (chosen(*served)) going.push_back(served->end_.go_away);
    }
  }
  for (const auto& go_away : going) go_away(only_if_idle);
}

void ConnectionTable::GoAway() {
  GoAwayIf(false, [](const ServedConnection&) { return true; });
}

SteadyTime ConnectionTable::EndIdle(SteadyTime now) {
  {
    const MutexLock lock(mutex_);
    if (now < look_again_) return look_again_;
    look_again_ = now + limits_.idle_timeout / 4;
  }
  const Http2Time clock = Http2Time::clock::now();
  GoAwayIf(true, [&](const ServedConnection& served) {
    return !served.busy() && absl::FromChrono(clock - served.last_used()) >= limits_.idle_timeout;
  });
  return now + limits_.idle_timeout / 4;
}

void ConnectionTable::HangUp() {
  const MutexLock lock(mutex_);
  for (const auto& served : served_) served->end_.hang_up();
}

bool ConnectionTable::AwaitNoneLive(SteadyTime deadline) {
  const MutexLock lock(mutex_);
  while (counters_.live > 0 && one_ended_.WaitUntil(mutex_, deadline)) {
  }
  return counters_.live == 0;
}

void ConnectionTable::Count(Counter counter) {
  const MutexLock lock(mutex_);
  ++(counters_.*counter);
}

uint64_t ConnectionTable::Count(Http2Violation violation) {
  const MutexLock lock(mutex_);
  return ++counters_.violations[static_cast<size_t>(violation)];
}

ListenerCounters ConnectionTable::counters() const {
  const MutexLock lock(mutex_);
  return counters_;
}

}  // namespace csi_proxy::rpc

#include "server/transport/connection_table.h"

#include <utility>

#include "absl/time/clock.h"

namespace csi_proxy::transport {

bool ConnectionTable::Admit(SilentConnection* connection, SilentConnection** displaced) {
  absl::MutexLock lock(&mutex_);
  const size_t pipe = connection->pipe;
  if (pipe >= connections_.size()) connections_.resize(pipe + 1);
  *displaced = nullptr;
  if (connections_[pipe] >= limits_.max_connections) {
    ++counters_.dropped_for_room;
    for (SilentConnection* silent : silent_) {
      if (silent->pipe != pipe) continue;
      *displaced = silent;
      break;
    }
    if (*displaced == nullptr) return false;
    Unlist(*displaced);
  }
  ++connections_[pipe];
  ++counters_.silent;
  connection->deadline = absl::Now() + limits_.preface_timeout;
  connection->place = silent_.insert(silent_.end(), connection);
  connection->listed = true;
  return true;
}

void ConnectionTable::Unlist(SilentConnection* connection) {
  silent_.erase(connection->place);
  connection->listed = false;
  --counters_.silent;
  --connections_[connection->pipe];
}

void ConnectionTable::Drop(SilentConnection* connection, Counter counter) {
  absl::MutexLock lock(&mutex_);
  Unlist(connection);
  if (counter != nullptr) ++(counters_.*counter);
}

SilentConnection* ConnectionTable::DropFirst(Counter counter) {
  SilentConnection* const first = silent_.front();
  Unlist(first);
  ++(counters_.*counter);
  return first;
}

SilentConnection* ConnectionTable::DropOverdue(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (silent_.empty() || silent_.front()->deadline > now) return nullptr;
  return DropFirst(&ListenerCounters::dropped_silent);
}

SilentConnection* ConnectionTable::DropOldest() {
  absl::MutexLock lock(&mutex_);
  return silent_.empty() ? nullptr : DropFirst(&ListenerCounters::dropped_for_room);
}

absl::Time ConnectionTable::next_deadline() const {
  absl::MutexLock lock(&mutex_);
  return silent_.empty() ? absl::InfiniteFuture() : silent_.front()->deadline;
}

void ConnectionTable::Promote(SilentConnection* connection) {
  absl::MutexLock lock(&mutex_);
  Unlist(connection);
  ++connections_[connection->pipe];
  ++counters_.live;
  ++counters_.adopted;
}

void ConnectionTable::Serve(std::string address, std::shared_ptr<const Peer> peer,
                            std::function<void()> hang_up) {
  absl::MutexLock lock(&mutex_);
  served_[std::move(address)] = {.peer = std::move(peer), .hang_up = std::move(hang_up)};
}

void ConnectionTable::End(size_t pipe, const std::string& address,
                          const std::shared_ptr<const Peer>& peer) {
  absl::MutexLock lock(&mutex_);
  --connections_[pipe];
  --counters_.live;
  const auto found = served_.find(address);
  if (found != served_.end() && found->second.peer == peer) served_.erase(found);
}

void ConnectionTable::HangUp() {
  absl::MutexLock lock(&mutex_);
  for (const auto& [address, served] : served_) served.hang_up();
}

std::shared_ptr<const Peer> ConnectionTable::Find(absl::string_view address) const {
  absl::MutexLock lock(&mutex_);
  const auto found = served_.find(std::string(address));
  return found != served_.end() ? found->second.peer : nullptr;
}

void ConnectionTable::Count(Counter counter) {
  absl::MutexLock lock(&mutex_);
  ++(counters_.*counter);
}

uint64_t ConnectionTable::Count(Http2Violation violation) {
  absl::MutexLock lock(&mutex_);
  return ++counters_.violations[static_cast<size_t>(violation)];
}

ListenerCounters ConnectionTable::counters() const {
  absl::MutexLock lock(&mutex_);
  return counters_;
}

}  // namespace csi_proxy::transport

// One thread with one epoll set accepts connections for all pipes and waits for prefaces. Then the
// transport serves the connections (socket_posix.h).
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "csi_proxy/steady_time.h"
#include "server/base/ready_events.h"
#include "server/base/start_thread.h"
#include "server/base/status_macros.h"
#include "server/calls/tenant_part.h"
#include "server/platform/peer_process.h"
#include "server/platform/unique_fd.h"
#include "server/rpc/connection_table.h"
#include "server/rpc/listener.h"
#include "server/rpc/pipe_server.h"
#include "server/rpc/preface.h"
#include "server/rpc/socket_directory_posix.h"
#include "server/transport/socket_posix.h"

namespace csi_proxy::rpc {
namespace {

// Descriptors reserved for serving accepted connections. If fewer are left, the listener evicts up
// to kEvictionsAtOnce connections and stops accepting for kAcceptPause. In the pause the evicted
// connections return their descriptors.
constexpr rlim_t kSpareDescriptors = 64;
constexpr int kEvictionsAtOnce = 16;
constexpr absl::Duration kAcceptPause = absl::Milliseconds(1);

// The maximum of accepted connections that wait for a turn, and the maximum of turns between checks
// for new connections. The thread accepts connections immediately, because the system has one queue
// for all clients of a pipe, and refuses the next client when it is full.
constexpr size_t kMaxArrivals = 4096;
constexpr int kTurnsAtOnce = 32;

// The longest wait for hung-up connections to end. No client can delay their end.
constexpr absl::Duration kLongestEnd = absl::Seconds(2);

rlim_t MaxDescriptors() {
  rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

bool DescriptorsRunOut(int newest) {
  return static_cast<rlim_t>(newest) + kSpareDescriptors >= MaxDescriptors();
}

// Limits each tenant to half of the descriptors.
ListenerLimits WithinDescriptors(ListenerLimits limits) {
  limits.max_connections_of_tenant =
      std::min<size_t>(limits.max_connections_of_tenant, MaxDescriptors() / 2);
  return limits;
}

// Returns the process that has connected; 0 if the system does not know it.
int64_t ClientOf(int fd) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  const int failed = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size);
  return failed == 0 ? credentials.pid : 0;
}

bool HasEnded(int64_t process) {
  return kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH;
}

class UnixListener final : public Listener {
 public:
  UnixListener(std::string directory, ListenerLimits limits, std::vector<CallObserver*> observers)
      : Listener(WithinDescriptors(limits), std::move(observers)),
        directory_path_(std::move(directory)),
        client_share_(limits.client_share) {}

  ~UnixListener() override { Stop(); }

  absl::Status Listen(std::vector<std::shared_ptr<const PipeServer>> servers) override;
  void Stop() override;
  void CloseLive() override {
    connections_->HangUp();
    connections_->AwaitNoneLive(SteadyTime::Now() + kLongestEnd);
  }

 private:
  enum class Kind { kWake, kPipe, kSilent };

  // An entry of the epoll set. `watched` is the registered descriptor: the eventfd, a listening
  // socket or a silent connection.
  struct Entry : ConnectionBeforePreface {
    uint64_t id = 0;
    Kind kind;
    UniqueFd watched;
  };

  // An accepted connection before the look-up of its process.
  struct Arrival {
    UniqueFd fd;
    size_t pipe = 0;
    int64_t process = 0;
  };

  void Run();
  absl::Status Watch(const Entry& entry, uint32_t events, int operation = EPOLL_CTL_ADD);
  // Accepts connections from the system and queues them for their turn.
  void Accept(Entry* listening);
  void Admit(Arrival arrival);
  void ReadPreface(Entry* entry);
  void Adopt(Entry* entry);
  void CloseSilent(Entry* entry, ConnectionTable::Counter counter = nullptr);
  // Closes a connection that the table has dropped.
  void Close(ConnectionBeforePreface* dropped) { entries_.erase(static_cast<Entry*>(dropped)->id); }
  void CloseOverdue(SteadyTime now);
  // Evicts up to kEvictionsAtOnce connections, to free descriptors.
  void EvictConnections();
  void PauseAccepting();
  void WatchPipes(uint32_t events);
  void RemoveSockets();
  std::unique_ptr<Entry> NewEntry(Kind kind);
  void Keep(std::unique_ptr<Entry> entry);
  int WaitMilliseconds() const;

  const std::string directory_path_;
  const size_t client_share_;
  // At most an eighth of the descriptors, because the table cannot evict arrivals.
  const size_t max_arrivals_ = std::min<size_t>(kMaxArrivals, MaxDescriptors() / 8);
  std::optional<SocketDirectory> directory_;
  UniqueFd epoll_;
  UniqueFd wake_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;

  // While the listener thread runs, only it uses these, but Stop() may read `pipes_`.
  std::vector<std::shared_ptr<const PipeServer>> pipes_;
  // Keyed by an id that is never reused: an event may be fetched before its entry is removed, and
  // then must not find another entry at the same address.
  std::unordered_map<uint64_t, std::unique_ptr<Entry>> entries_;
  uint64_t next_id_ = 0;
  // The connections that wait for Admit(). Their processes take turns.
  ReadyEvents<Arrival> arrivals_;
  std::optional<SteadyTime> accept_again_;
  SteadyTime look_again_ = SteadyTime::InfinitePast();
};

std::unique_ptr<UnixListener::Entry> UnixListener::NewEntry(Kind kind) {
  auto entry = std::make_unique<Entry>();
  entry->id = next_id_++;
  entry->kind = kind;
  return entry;
}

void UnixListener::Keep(std::unique_ptr<Entry> entry) {
  const uint64_t id = entry->id;
  entries_.emplace(id, std::move(entry));
}

absl::Status UnixListener::Watch(const Entry& entry, uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = entry.id;
  const int failed = epoll_ctl(epoll_.get(), operation, entry.watched.get(), &event);
  return failed == 0 ? absl::OkStatus() : absl::ErrnoToStatus(errno, "epoll_ctl");
}

absl::Status UnixListener::Listen(std::vector<std::shared_ptr<const PipeServer>> servers) {
  ABSL_ASSIGN_OR_RETURN(SocketDirectory directory, SocketDirectory::Open(directory_path_));
  directory_ = std::move(directory);
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return absl::ErrnoToStatus(errno, "epoll_create1");

  auto wake = NewEntry(Kind::kWake);
  wake_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  wake->watched.Reset(fcntl(wake_.get(), F_DUPFD_CLOEXEC, 0));
  if (!wake->watched.valid()) return absl::ErrnoToStatus(errno, "eventfd");
  absl::Status status = Watch(*wake, EPOLLIN);
  Keep(std::move(wake));

  for (std::shared_ptr<const PipeServer>& server : servers) {
    if (!status.ok()) break;
    absl::StatusOr<UniqueFd> socket = directory_->Bind(absl::StrCat(server->name(), ".sock"));
    if (!socket.ok()) {
      status = socket.status();
      break;
    }
    auto entry = NewEntry(Kind::kPipe);
    entry->watched = *std::move(socket);
    entry->pipe = pipes_.size();
    pipes_.push_back(std::move(server));
    status = Watch(*entry, EPOLLIN);
    Keep(std::move(entry));
  }
  for (size_t i = 0; i < pipes_.size() && status.ok(); ++i) {
    status = directory_->Publish(absl::StrCat(pipes_[i]->name(), ".sock"));
  }
  if (status.ok()) {
    absl::StatusOr<std::thread> thread = StartThread([this] { Run(); });
    if (thread.ok()) {
      thread_ = *std::move(thread);
      return absl::OkStatus();
    }
    status = thread.status();
  }
  RemoveSockets();
  entries_.clear();
  return status;
}

void UnixListener::Stop() {
  if (!thread_.joinable()) return;
  RemoveSockets();
  stopping_ = true;
  const uint64_t one = 1;
  // An eventfd's write fails only if its counter is full, and then the thread also wakes.
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
  thread_.join();
  while (!arrivals_.empty()) arrivals_.Take();
  for (const auto& [id, entry] : entries_) {
    if (entry->kind == Kind::kSilent) connections_->Drop(entry.get());
  }
  entries_.clear();
}

void UnixListener::RemoveSockets() {
  for (const auto& pipe : pipes_) directory_->Remove(absl::StrCat(pipe->name(), ".sock"));
}

void UnixListener::Run() {
  std::array<epoll_event, 64> events;
  while (!stopping_) {
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 WaitMilliseconds());
    for (int i = 0; i < count && !stopping_; ++i) {
      // Must be copied: the structure is packed, and a reference into it need not be aligned.
      const uint64_t id = events[static_cast<size_t>(i)].data.u64;
      const auto found = entries_.find(id);
      if (found == entries_.end()) continue;
      Entry* const entry = found->second.get();
      switch (entry->kind) {
        case Kind::kWake:
          break;
        case Kind::kPipe:
          Accept(entry);
          break;
        case Kind::kSilent:
          ReadPreface(entry);
          break;
      }
    }
    for (int i = 0; i < kTurnsAtOnce && !arrivals_.empty(); ++i) Admit(arrivals_.Take());
    CloseOverdue(SteadyTime::Now());
    look_again_ = connections_->EndIdle(SteadyTime::Now());
  }
}

int UnixListener::WaitMilliseconds() const {
  if (!arrivals_.empty()) return 0;
  SteadyTime next = std::min(look_again_, connections_->next_deadline());
  if (accept_again_.has_value()) next = std::min(next, *accept_again_);
  const absl::Duration wait =
      std::clamp(next - SteadyTime::Now(), absl::ZeroDuration(), absl::Minutes(1));
  return static_cast<int>(absl::ToInt64Milliseconds(wait) + 1);
}

void UnixListener::Accept(Entry* listening) {
  // Accepts a bounded batch, so that one busy pipe does not delay the others.
  for (size_t i = 0; i < max_arrivals_ && arrivals_.size() < max_arrivals_; ++i) {
    UniqueFd fd(accept4(listening->watched.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd.valid()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        EvictConnections();
        PauseAccepting();
      }
      return;
    }
    const bool last = DescriptorsRunOut(fd.get());
    if (last) EvictConnections();
    connections_->Count(&ListenerCounters::accepted);
    const int64_t process = ClientOf(fd.get());
    const auto* const line = reinterpret_cast<const void*>(static_cast<uintptr_t>(process));
    const size_t own = arrivals_.size_of(line);
    if (MayTakeOneMore(own, arrivals_.size() - own, max_arrivals_, client_share_)) {
      arrivals_.Put(line, {std::move(fd), listening->pipe, process});
    } else {
      connections_->Count(&ListenerCounters::dropped_for_room);
    }
    if (last) {
      PauseAccepting();
      return;
    }
  }
}

void UnixListener::Admit(Arrival arrival) {
  const uint64_t start = StartOfProcess(arrival.process);
  if (start == 0 && arrival.process != 0 && HasEnded(arrival.process)) {
    // The process has ended, so no client could be charged.
    return connections_->Count(&ListenerCounters::dropped_silent);
  }
  auto owned = NewEntry(Kind::kSilent);
  Entry* const entry = owned.get();
  entry->client = clients_.Get(arrival.process, start);
  entry->watched = std::move(arrival.fd);
  entry->pipe = arrival.pipe;
  ConnectionBeforePreface* displaced;
  if (!connections_->Admit(entry, &displaced)) return;
  if (displaced != nullptr) Close(displaced);
  Keep(std::move(owned));
  if (!Watch(*entry, EPOLLIN | EPOLLET | EPOLLRDHUP).ok()) CloseSilent(entry);
}

void UnixListener::ReadPreface(Entry* entry) {
  std::array<char, kHttp2Preface.size()> bytes;
  const ssize_t received = recv(entry->watched.get(), bytes.data(), bytes.size(), MSG_PEEK);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (received <= 0) {
    CloseSilent(entry);
    return;
  }
  switch (MatchPreface(absl::string_view(bytes.data(), static_cast<size_t>(received)))) {
    case PrefaceMatch::kComplete:
      Adopt(entry);
      break;
    // The set is edge-triggered: either the next bytes or the deadline wakes this thread again.
    case PrefaceMatch::kPartial:
      break;
    case PrefaceMatch::kMismatch:
      CloseSilent(entry, &ListenerCounters::dropped_garbage);
      break;
  }
}

void UnixListener::Adopt(Entry* entry) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry->watched.get(), nullptr);
  absl::StatusOr<std::shared_ptr<transport::Stream>> stream =
      transport::NewSocketStream(std::move(entry->watched), entry->client->tenant.get());
  if (!stream.ok()) return CloseSilent(entry, &ListenerCounters::dropped_for_room);
  std::shared_ptr<ServedConnection> promoted = connections_->Promote(entry);
  const std::shared_ptr<const PipeServer> server = pipes_[entry->pipe];
  Close(entry);
  // Passes no bytes: the preface was only peeked at, so the connection reads it again.
  Serve(server, std::move(promoted), *std::move(stream), "");
}

void UnixListener::CloseSilent(Entry* entry, ConnectionTable::Counter counter) {
  connections_->Drop(entry, counter);
  Close(entry);
}

void UnixListener::CloseOverdue(SteadyTime now) {
  while (ConnectionBeforePreface* const overdue = connections_->DropOverdue(now)) Close(overdue);
  if (accept_again_.has_value() && *accept_again_ <= now) {
    accept_again_.reset();
    WatchPipes(EPOLLIN);
  }
}

void UnixListener::EvictConnections() {
  ConnectionBeforePreface* displaced;
  for (int made = 0; made < kEvictionsAtOnce && connections_->Evict(&displaced); ++made) {
    if (displaced != nullptr) Close(displaced);
  }
}

// Ignores waiting clients for a moment, because without free descriptors the level-triggered set
// would wake the thread in a busy loop.
void UnixListener::PauseAccepting() {
  accept_again_ = SteadyTime::Now() + kAcceptPause;
  WatchPipes(0);
}

void UnixListener::WatchPipes(uint32_t events) {
  for (const auto& [id, entry] : entries_) {
    if (entry->kind == Kind::kPipe) Watch(*entry, events, EPOLL_CTL_MOD).IgnoreError();
  }
}

}  // namespace

std::unique_ptr<Listener> NewListener(PipePlace place, ListenerLimits limits,
                                      std::vector<CallObserver*> observers) {
  return std::make_unique<UnixListener>(std::move(place.socket_dir), limits, std::move(observers));
}

}  // namespace csi_proxy::rpc

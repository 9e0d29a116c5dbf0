// Each socket is in one epoll set, which reports the socket once for each operation that waits
// (EPOLLONESHOT). The kernel gives turns to sockets. This file gives turns to tenants, because one
// tenant may have thousands of sockets.
#include "server/transport/socket_posix.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "server/base/condition.h"
#include "server/base/ready_events.h"
#include "server/base/start_thread.h"

namespace csi_proxy::transport {
namespace {

class SocketStream;

// The epoll set and its threads.
class Poller {
 public:
  // Never destroyed, because its threads live as long as the process.
  static Poller& Get() {
    static auto* const poller = new Poller();
    return *poller;
  }

  absl::Status Add(int fd, const std::shared_ptr<SocketStream>& stream, const void* tenant,
                   uint64_t* id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(uint64_t id) {
    const MutexLock lock(mutex_);
    streams_.erase(id);
  }
  // Reports `events` of a socket once.
  void Await(int fd, uint64_t id, uint32_t events) {
    epoll_event event{.events = events | EPOLLONESHOT, .data = {.u64 = id}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
  }
  void Post(std::function<void()> work, const void* tenant) {
    const MutexLock lock(mutex_);
    ready_.Put(tenant, {.work = std::move(work)});
    if (ready_.MustWake()) Wake();
  }

 private:
  struct Entry {
    std::weak_ptr<SocketStream> stream;
    const void* tenant = nullptr;
    uint32_t ready = 0;  // the events that wait, or 0 if the socket does not wait for a thread
  };

  // The id of the eventfd. A stream never has it.
  static constexpr uint64_t kWake = 0;

  // A socket that waits for a thread, or posted work.
  struct Event {
    uint64_t id = kWake;
    std::function<void()> work = nullptr;
  };
  // An event for a thread: a stream's events, or posted work, or nothing.
  struct Taken {
    std::shared_ptr<SocketStream> stream = nullptr;
    uint32_t events = 0;
    std::function<void()> work = nullptr;
  };

  Poller() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    epoll_event event{.events = EPOLLIN | EPOLLONESHOT, .data = {.u64 = kWake}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
  }

  absl::Status StartThreads() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Wake() {
    const uint64_t one = 1;
    // Fails only if the counter is full, and then a thread wakes as well.
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
  }
  // Takes a wake, so that the eventfd can wake the next thread.
  void TakeWake() {
    uint64_t count;
    [[maybe_unused]] const ssize_t taken = read(wake_.get(), &count, sizeof(count));
    Await(wake_.get(), kWake, EPOLLIN);
  }
  [[noreturn]] void Run();
  // Takes the event that is next in turn.
  Taken Next() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const UniqueFd epoll_, wake_;
  Mutex mutex_;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  // Keyed by an id that is never reused, because an event may outlive its stream.
  absl::flat_hash_map<uint64_t, Entry> streams_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = kWake;
  // Holds each socket at most once.
  ReadyEvents<Event> ready_ ABSL_GUARDED_BY(mutex_);
};

class SocketStream final : public Stream, public std::enable_shared_from_this<SocketStream> {
 public:
  SocketStream(UniqueFd socket, const void* tenant) : socket_(std::move(socket)), tenant_(tenant) {}
  ~SocketStream() override { Poller::Get().Remove(id_); }

  absl::Status Open() {
    return Poller::Get().Add(socket_.get(), shared_from_this(), tenant_, &id_);
  }

  bool Read(absl::string_view* /*bytes*/) override {
    Await(EPOLLIN);
    return false;
  }
  bool Write(absl::string_view bytes, bool* ok) override {
    left_ = bytes;
    if (Push(ok)) return true;
    Await(EPOLLOUT);
    return false;
  }
  void HangUp() override { shutdown(socket_.get(), SHUT_RDWR); }
  // The client may still read what was written. Unread bytes take no memory of this process.
  void Disconnect() override { HangUp(); }
  bool Post(std::function<void()> work) override {
    Poller::Get().Post(std::move(work), tenant_);
    return true;
  }

  // Handles an event of the poller.
  void OnEvent(uint32_t events) {
    uint32_t ended = 0;
    {
      const MutexLock lock(mutex_);
      // An error, or the end of the connection, ends all operations.
      ended = waits_for_ & ((events & (EPOLLERR | EPOLLHUP)) != 0 ? EPOLLIN | EPOLLOUT : events);
      waits_for_ &= ~ended;
      if (waits_for_ != 0) Poller::Get().Await(socket_.get(), id_, waits_for_);
    }
    if ((ended & EPOLLOUT) != 0) {
      bool ok = false;
      if (Push(&ok)) {
        events_->OnWritten(ok);
      } else {
        Await(EPOLLOUT);
      }
    }
    if ((ended & EPOLLIN) != 0) Pull();
  }

 private:
  void Await(uint32_t event) {
    const MutexLock lock(mutex_);
    waits_for_ |= event;
    Poller::Get().Await(socket_.get(), id_, waits_for_);
  }

  void Pull() {
    // Each thread has one buffer, so that idle connections need none.
    thread_local std::array<char, 64 << 10> bytes;
    const ssize_t received = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) return Await(EPOLLIN);
    events_->OnRead({bytes.data(), static_cast<size_t>(std::max<ssize_t>(received, 0))});
  }

  // Writes what is left. Returns false if the socket takes no more now.
  bool Push(bool* ok) {
    while (!left_.empty()) {
      const ssize_t sent = send(socket_.get(), left_.data(), left_.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) return false;
      if (sent < 0) break;
      left_.remove_prefix(static_cast<size_t>(sent));
    }
    *ok = left_.empty();
    return true;
  }

  const UniqueFd socket_;
  const void* const tenant_;
  uint64_t id_ = 0;
  absl::string_view left_;  // of the write under way
  Mutex mutex_;
  // The operations under way, as epoll's events.
  uint32_t waits_for_ ABSL_GUARDED_BY(mutex_) = 0;
};

absl::Status Poller::StartThreads() {
  while (threads_.size() < ReadingThreads()) {
    absl::StatusOr<std::thread> thread = StartThread([this] { Run(); });
    if (!thread.ok()) return thread.status();
    threads_.push_back(*std::move(thread));
  }
  return absl::OkStatus();
}

absl::Status Poller::Add(int fd, const std::shared_ptr<SocketStream>& stream, const void* tenant,
                         uint64_t* id) {
  const MutexLock lock(mutex_);
  // Fewer threads than wanted are enough to go on.
  const absl::Status started = StartThreads();
  if (threads_.empty()) return started;
  *id = ++last_id_;
  epoll_event event{.events = EPOLLONESHOT, .data = {.u64 = *id}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return absl::ErrnoToStatus(errno, "epoll_ctl");
  }
  streams_[*id] = {.stream = stream, .tenant = tenant};
  return absl::OkStatus();
}

void Poller::Run() {
  std::array<epoll_event, Pace::kMany> events;
  Pace pace;
  while (true) {
    bool may_sleep;
    {
      const MutexLock lock(mutex_);
      may_sleep = ready_.BeginLook();
    }
    int count = 0;
    if (may_sleep || pace.LooksAgain()) {
      const Pace::Clock::time_point begin = Pace::Clock::now();
      count = epoll_wait(epoll_.get(), events.data(), pace.most(),
                         may_sleep && !pace.is_fast() ? -1 : 0);
      pace.Looked(begin, static_cast<size_t>(std::max(count, 0)));
    }
    Taken next;
    {
      const MutexLock lock(mutex_);
      ready_.EndLook(may_sleep);
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<size_t>(i)];
        if (event.data.u64 == kWake) {
          TakeWake();
          ready_.WakeTaken();
        } else if (const auto found = streams_.find(event.data.u64); found != streams_.end()) {
          Entry& entry = found->second;
          if (entry.ready == 0) ready_.Put(entry.tenant, {.id = event.data.u64});
          entry.ready |= event.events;
        }
      }
      next = Next();
      // Another thread takes the remaining events, because a call may keep this one.
      if (ready_.MustWake()) Wake();
    }
    if (next.stream != nullptr) next.stream->OnEvent(next.events);
    if (next.work != nullptr) next.work();
  }
}

Poller::Taken Poller::Next() {
  while (!ready_.empty()) {
    Event event = ready_.Take();
    if (event.work != nullptr) return {.work = std::move(event.work)};
    const auto found = streams_.find(event.id);
    if (found == streams_.end()) continue;
    const uint32_t events = std::exchange(found->second.ready, 0);
    if (auto stream = found->second.stream.lock()) return {.stream = stream, .events = events};
  }
  return {};
}

}  // namespace

size_t ReadingThreads() {
  return std::clamp<size_t>(std::thread::hardware_concurrency() / 2, 2, 16);
}

absl::StatusOr<std::shared_ptr<Stream>> NewSocketStream(UniqueFd socket, const void* tenant) {
  auto stream = std::make_shared<SocketStream>(std::move(socket), tenant);
  if (absl::Status opened = stream->Open(); !opened.ok()) return opened;
  return stream;
}

}  // namespace csi_proxy::transport

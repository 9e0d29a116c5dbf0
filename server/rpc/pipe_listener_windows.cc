// Every pipe has a few instances that wait for a client. One that gets a client is replaced at
// once, and becomes a silent connection that waits for the preface. All of this happens in
// completions of overlapped I/O; one more thread closes overdue connections, and retries to make
// instances that could not be made before.
//
// The pipe's name stays ours from the first instance to the end: there is never a moment without
// one, and the security descriptor lets nobody else make more. After the end it is nobody's: every
// connection is disconnected (server/rpc/pipe/closer.h).
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "server/base/process_locks.h"
#include "server/base/start_thread.h"
#include "server/rpc/client_registry.h"
#include "server/rpc/connection_table.h"
#include "server/rpc/http2_guard.h"
#include "server/rpc/listener.h"
#include "server/rpc/pipe/closer.h"
#include "server/rpc/pipe/pipe.h"
#include "server/rpc/pipe/pipe_name.h"
#include "server/rpc/preface.h"
#include "server/rpc/waiting_instances.h"

namespace csi_proxy::transport {
namespace {

// The preface and what usually comes with it.
constexpr size_t kFirstBytes = 256;

// How long a client may take to read its last answers.
constexpr absl::Duration kReadingTime = absl::Seconds(2);

// A served connection, under the guard.
class Guarded final : public pipe::Watcher {
 public:
  Guarded(std::shared_ptr<ConnectionTable> table, ClientRegistry clients, std::string path,
          std::shared_ptr<Client> client)
      : table_(std::move(table)),
        clients_(std::move(clients)),
        path_(std::move(path)),
        client_(std::move(client)),
        // The account is the client's, and lives as long.
        guard_(std::shared_ptr<Http2Account>(client_, &client_->http2)) {}

  bool Read(absl::string_view bytes, std::vector<absl::string_view>* pieces) override {
    const Http2Violation violation = guard_.Received(bytes, SteadyTime::clock::now(), pieces);
    if (violation == Http2Violation::kNone) return true;
    clients_.Remember(client_);
    const uint64_t count = table_->Count(violation);
    // An attacker that comes again and again does not fill the log.
    if (std::has_single_bit(count)) {
      spdlog::warn("{}: ended a connection of process {} for its HTTP/2 frames: {} ({} so far)",
                   path_, client_->peer.process_id,
                   kHttp2ViolationNames[static_cast<size_t>(violation)], count);
    }
    return false;
  }
  void Written(absl::string_view bytes) override { guard_.Sent(bytes, SteadyTime::clock::now()); }

 private:
  const std::shared_ptr<ConnectionTable> table_;
  ClientRegistry clients_;
  const std::string path_;
  const std::shared_ptr<Client> client_;
  Http2Guard guard_;
};

class PipeListener final : public Listener {
 public:
  PipeListener(std::string sddl, ListenerLimits limits, std::vector<shim::CallObserver*> observers)
      : sddl_(std::move(sddl)),
        table_(std::make_shared<ConnectionTable>(limits, std::move(observers))) {}
  ~PipeListener() override { Stop(); }

  absl::Status Listen(std::vector<PipeEndpoint> endpoints) override;
  void Stop() override;
  void CloseLive() override {
    table_->HangUp();
    if (closer_.has_value()) closer_->Finish();
  }
  ListenerCounters counters() const override { return table_->counters(); }
  std::shared_ptr<shim::Connection> Find(absl::string_view address) const override {
    return table_->Find(address);
  }

 private:
  // An instance that waits for its client, then for the client's preface. One operation of its
  // stream is under way at all times; where that ends, the instance is handled.
  struct Instance : SilentConnection {
    PipeListener* listener;
    std::unique_ptr<pipe::PipeStream> stream;
    std::array<char, kFirstBytes> bytes;
    size_t received = 0;
  };

  struct Pipe {
    PipeEndpoint endpoint;
    std::string path;
  };

  // A completion that is being handled: Stop() waits for it.
  class Handling {
   public:
    explicit Handling(PipeListener* listener) : listener_(listener) { Add(1); }
    ~Handling() { Add(-1); }

   private:
    void Add(int change) {
      absl::MutexLock lock(&listener_->mutex_);
      listener_->handling_ += change;
    }
    PipeListener* const listener_;
  };

  absl::Status TakeNames();
  // Awaits a client at an instance that has been `made`.
  absl::Status Await(size_t pipe, absl::StatusOr<void*> made);
  WaitingInstances::Functions Making();
  void OnConnected(Instance* instance, DWORD error);
  void ReadOn(Instance* instance);
  // Returns true while the instance is still silent and wants to read on.
  bool OnRead(Instance* instance, DWORD error, DWORD bytes);
  bool Admit(Instance* instance) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The table has dropped it: it is removed when its cancelled read ends.
  static void Cancel(SilentConnection* dropped) {
    static_cast<Instance*>(dropped)->stream->Cancel();
  }
  std::unique_ptr<Instance> Remove(Instance* instance) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::move(instances_.extract(instance).mapped());
  }
  void Adopt(std::unique_ptr<Instance> instance);
  void Watch();

  const std::string sddl_;
  // Shared with the connections that gRPC serves, which may outlive the listener.
  const std::shared_ptr<ConnectionTable> table_;
  ClientRegistry clients_;
  std::shared_ptr<pipe::PipeCalls> calls_;
  std::optional<pipe::Closer> closer_;
  std::optional<WaitingInstances> waiting_;
  std::thread watcher_;

  // Whoever holds it may call the table: silent connections change under it alone.
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool wake_watcher_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Pipe> pipes_;  // its size never changes once listening
  std::unordered_map<Instance*, std::unique_ptr<Instance>> instances_ ABSL_GUARDED_BY(mutex_);
  int handling_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_name_ ABSL_GUARDED_BY(mutex_) = 0;
};

absl::Status PipeListener::Listen(std::vector<PipeEndpoint> endpoints) {
  absl::StatusOr<pipe::Security> security = pipe::Security::ForServer(sddl_);
  if (!security.ok()) return security.status();
  auto calls = pipe::NewPipeCalls(*std::move(security));
  if (!calls.ok()) return calls.status();
  calls_ = *std::move(calls);
  closer_.emplace(calls_, kReadingTime);
  for (PipeEndpoint& endpoint : endpoints) {
    std::string path = pipe::Path(endpoint.name);
    pipes_.push_back({.endpoint = std::move(endpoint), .path = std::move(path)});
  }
  waiting_.emplace(pipes_.size(), Making());
  absl::StatusOr<std::thread> watcher = StartThread([this] { Watch(); });
  if (!watcher.ok()) return watcher.status();
  watcher_ = *std::move(watcher);
  if (absl::Status taken = TakeNames(); !taken.ok()) {
    Stop();
    return taken;
  }
  for (size_t pipe = 0; pipe < pipes_.size(); ++pipe) waiting_->Replenish(pipe);
  return absl::OkStatus();
}

WaitingInstances::Functions PipeListener::Making() {
  WaitingInstances::Functions functions;
  functions.make = [this](size_t pipe) {
    return Await(pipe, calls_->Create(pipes_[pipe].path, pipe::Creation::kFurther));
  };
  functions.post = [this](std::function<void()> work) {
    return pipe::IoPort::Get().Post(
        [handling = std::make_shared<Handling>(this), work] { work(); });
  };
  functions.wake = [this] {
    absl::MutexLock lock(&mutex_);
    wake_watcher_ = true;
  };
  functions.warn = [this](size_t pipe, const absl::Status& why, uint64_t failures) {
    spdlog::warn("{}: cannot create another instance: {} ({} times so far)", pipes_[pipe].path,
                 std::string(why.message()), failures);
  };
  return functions;
}

absl::Status PipeListener::TakeNames() {
  // Another csi-proxy that starts at the same time is through much sooner.
  const CallContext context(absl::Now() + absl::Seconds(10));
  absl::StatusOr<std::unique_ptr<ProcessLocks>> locks = NewProcessLocks("");
  const absl::StatusOr<std::unique_ptr<ProcessLocks::Held>> alone =
      locks.ok() ? (*locks)->Acquire(context, "names of pipes") : locks.status();
  for (size_t pipe = 0; pipe < pipes_.size(); ++pipe) {
    absl::Status taken = Await(pipe, pipe::TakeName(*calls_, pipes_[pipe].path, alone.status()));
    if (!taken.ok()) return taken;
  }
  return absl::OkStatus();
}

void PipeListener::Stop() {
  if (waiting_.has_value()) waiting_->Stop();
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    for (const auto& [instance, owned] : instances_) instance->stream->Cancel();
  }
  // First, for it may post work that is to be handled.
  if (watcher_.joinable()) watcher_.join();
  absl::MutexLock lock(&mutex_);
  // Each cancelled operation ends on a thread of the port, which removes its instance.
  mutex_.Await(absl::Condition(
      +[](PipeListener* self) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return self->instances_.empty() && self->handling_ == 0;
      },
      this));
}

absl::Status PipeListener::Await(size_t pipe, absl::StatusOr<void*> made) {
  if (!made.ok()) return made.status();
  absl::StatusOr<std::unique_ptr<pipe::PipeStream>> stream =
      pipe::PipeStream::Create(closer_->Own(*made));
  if (!stream.ok()) return stream.status();
  auto owned = std::make_unique<Instance>();
  Instance* const instance = owned.get();
  instance->listener = this;
  instance->pipe = pipe;
  instance->stream = *std::move(stream);
  pipe::Stream::Result result;
  bool connected;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return absl::CancelledError("stopping");
    waiting_->Added(pipe);
    instances_.emplace(instance, std::move(owned));
    // Under the lock, so that Stop() finds either no instance or one with something to cancel.
    connected = instance->stream->Connect(
        [](void* argument, DWORD error, DWORD) {
          auto* const ended = static_cast<Instance*>(argument);
          const Handling handling(ended->listener);
          ended->listener->OnConnected(ended, error);
        },
        instance, &result);
  }
  if (connected) OnConnected(instance, result.error);
  return absl::OkStatus();
}

void PipeListener::OnConnected(Instance* instance, DWORD error) {
  const size_t pipe = instance->pipe;
  std::unique_ptr<Instance> gone;
  // Asked before the lock is taken, for it asks the system.
  if (error == ERROR_SUCCESS) {
    instance->client = clients_.Get(pipe::ClientOfInstance(instance->stream->handle()));
  }
  {
    absl::MutexLock lock(&mutex_);
    waiting_->Taken(pipe);
    if (stopping_) {
      gone = Remove(instance);
      return;
    }
    // On ERROR_NO_DATA and the like, the client has left again.
    if (error != ERROR_SUCCESS || !Admit(instance)) gone = Remove(instance);
  }
  const bool stays = gone == nullptr;
  gone.reset();
  waiting_->Replenish(pipe);
  if (stays) ReadOn(instance);
}

void PipeListener::ReadOn(Instance* instance) {
  while (true) {
    pipe::Stream::Result result{.error = ERROR_OPERATION_ABORTED};
    bool ended = true;
    {
      absl::MutexLock lock(&mutex_);
      if (!stopping_ && instance->listed) {
        ended = instance->stream->Read(
            instance->bytes.data() + instance->received,
            static_cast<DWORD>(instance->bytes.size() - instance->received),
            [](void* argument, DWORD error, DWORD bytes) {
              auto* const read = static_cast<Instance*>(argument);
              const Handling handling(read->listener);
              if (read->listener->OnRead(read, error, bytes)) read->listener->ReadOn(read);
            },
            instance, &result);
      }
    }
    if (!ended || !OnRead(instance, result.error, result.bytes)) return;
  }
}

bool PipeListener::OnRead(Instance* instance, DWORD error, DWORD bytes) {
  std::unique_ptr<Instance> ended;
  bool adopt = false;
  {
    absl::MutexLock lock(&mutex_);
    instance->received += bytes;
    const PrefaceMatch match =
        MatchPreface(absl::string_view(instance->bytes.data(), instance->received));
    const bool failed = error != ERROR_SUCCESS || bytes == 0 || stopping_ || !instance->listed;
    if (!failed && match == PrefaceMatch::kPartial) return true;
    adopt = !failed && match == PrefaceMatch::kComplete;
    if (adopt) {
      table_->Promote(instance);
    } else if (instance->listed) {
      table_->Drop(instance, failed ? nullptr : &ListenerCounters::dropped_garbage);
    }
    ended = Remove(instance);
  }
  if (adopt) Adopt(std::move(ended));
  return false;
}

bool PipeListener::Admit(Instance* instance) {
  table_->Count(&ListenerCounters::accepted);
  SilentConnection* displaced;
  if (!table_->Admit(instance, &displaced)) return false;
  if (displaced != nullptr) Cancel(displaced);
  // The watcher waits for the oldest.
  wake_watcher_ = wake_watcher_ || table_->next_deadline() == instance->deadline;
  return true;
}

void PipeListener::Adopt(std::unique_ptr<Instance> instance) {
  auto connection = std::make_unique<pipe::Connection>();
  connection->stream = std::move(instance->stream);
  connection->received.assign(instance->bytes.data(), instance->received);
  {
    absl::MutexLock lock(&mutex_);
    connection->name = absl::StrCat("pipe:", next_name_++);
  }
  auto served = table_->Serve(instance->pipe, connection->name, instance->client,
                              [weak = std::weak_ptr(connection->stream)] {
                                if (const auto stream = weak.lock()) stream->HangUp();
                              });
  connection->closed = [table = table_, served = std::move(served)] { table->End(served); };
  connection->watcher = std::make_unique<Guarded>(table_, clients_, pipes_[instance->pipe].path,
                                                  std::move(instance->client));
  const absl::string_view behind(connection->received);
  // gRPC gets them in one piece with the preface: they are few.
  std::vector<absl::string_view> pieces;
  if (!connection->watcher->Read(behind.substr(kHttp2Preface.size()), &pieces)) {
    return connection->closed();
  }
  pipes_[instance->pipe].endpoint.adopt(reinterpret_cast<intptr_t>(connection.release()));
}

// Closes connections that stay silent, and makes the instances that could not be made.
void PipeListener::Watch() {
  absl::MutexLock lock(&mutex_);
  while (!stopping_) {
    wake_watcher_ = false;
    mutex_.Unlock();
    const absl::Time retry = waiting_->Retry();
    mutex_.Lock();
    while (SilentConnection* const overdue = table_->DropOverdue(absl::Now())) Cancel(overdue);
    const absl::Time next = std::min(retry, table_->next_deadline());
    mutex_.AwaitWithDeadline(absl::Condition(
                                 +[](PipeListener* self) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                   return self->stopping_ || self->wake_watcher_;
                                 },
                                 this),
                             next);
  }
}

}  // namespace

std::unique_ptr<Listener> NewListener(PipePlace place, ListenerLimits limits,
                                      std::vector<shim::CallObserver*> observers) {
  return std::make_unique<PipeListener>(std::move(place.sddl), limits, std::move(observers));
}

}  // namespace csi_proxy::transport

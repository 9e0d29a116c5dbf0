// Every pipe keeps a few instances that wait for a client. When a client takes an instance, the
// listener immediately makes another, and the taken one becomes a silent connection that waits for
// the preface. All this happens in completions of overlapped I/O. One more thread closes overdue
// connections and retries instances that failed.
//
// The process holds the pipe's name from the first instance to the end: an instance always exists,
// and the security descriptor lets no other account make one. At the end it disconnects every
// connection (server/pipe/closer.h), and so frees the name.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/base/start_thread.h"
#include "server/base/status_macros.h"
#include "server/locks/process_locks.h"
#include "server/pipe/closer.h"
#include "server/pipe/io_port.h"
#include "server/pipe/pipe.h"
#include "server/pipe/pipe_name.h"
#include "server/rpc/connection_table.h"
#include "server/rpc/listener.h"
#include "server/rpc/pipe_server.h"
#include "server/rpc/preface.h"
#include "server/rpc/waiting_instances.h"
#include "server/transport/pipe_stream_windows.h"

namespace csi_proxy::rpc {
namespace {

// The size of a first read: the preface and the bytes that usually come with it.
constexpr size_t kFirstBytes = 256;

// The time for a client to read its last answers.
constexpr absl::Duration kReadingTime = absl::Seconds(2);

constexpr absl::Duration kLongestWait = absl::Minutes(1);  // the watcher's wait if nothing is due

class PipeListener final : public Listener {
 public:
  PipeListener(std::string sddl, ListenerLimits limits, std::vector<CallObserver*> observers)
      : Listener(limits, std::move(observers)), sddl_(std::move(sddl)) {}
  ~PipeListener() override { Stop(); }

  absl::Status Listen(std::vector<std::shared_ptr<const PipeServer>> servers) override;
  void Stop() override;
  void CloseLive() override {
    connections_->HangUp();
    if (closer_.has_value()) closer_->Finish();
    connections_->AwaitNoneLive(SteadyTime::Now() + kReadingTime);
  }

 private:
  // An instance that waits for its client, then for the client's preface. One operation of its
  // stream is always under way, and the operation's completion handles the instance.
  struct Instance : ConnectionBeforePreface {
    PipeListener* listener;
    std::unique_ptr<pipe::PipeStream> stream;
    std::array<char, kFirstBytes> bytes;
    size_t received = 0;
  };

  struct Pipe {
    std::shared_ptr<const PipeServer> server;
    std::string path;
  };

  // Counts a completion that is being handled, because Stop() waits for it.
  class Handling {
   public:
    explicit Handling(PipeListener* listener) : listener_(listener) { Add(1); }
    ~Handling() { Add(-1); }

   private:
    void Add(int change) {
      const MutexLock lock(listener_->mutex_);
      listener_->handling_ += change;
      listener_->changed_.NotifyAll();
    }
    PipeListener* const listener_;
  };

  absl::Status TakeNames();
  // Makes the new instance wait for a client. `made` is the instance's handle or an error.
  absl::Status Await(size_t pipe, absl::StatusOr<void*> made);
  WaitingInstances::Functions Making();
  void OnConnected(Instance* instance, DWORD error);
  void ReadOn(Instance* instance);
  // Returns true if the instance is still silent and must read on.
  bool OnRead(Instance* instance, DWORD error, DWORD bytes);
  bool Admit(Instance* instance) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Cancels the read of a connection that the table has dropped. The read's completion removes the
  // connection.
  static void Cancel(ConnectionBeforePreface* dropped) {
    static_cast<Instance*>(dropped)->stream->Cancel();
  }
  // Removes the instance, and wakes Stop(). Returns the instance.
  std::unique_ptr<Instance> Remove(Instance* instance) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    changed_.NotifyAll();
    return std::move(instances_.extract(instance).mapped());
  }
  void Watch();

  const std::string sddl_;
  std::shared_ptr<pipe::PipeCalls> calls_;
  std::optional<pipe::Closer> closer_;
  std::optional<WaitingInstances> waiting_;
  std::thread watcher_;
  std::vector<Pipe> pipes_;  // its size never changes once listening

  // Also guards the table's calls about silent connections.
  Mutex mutex_;
  Condition changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool wake_watcher_ ABSL_GUARDED_BY(mutex_) = false;
  std::unordered_map<Instance*, std::unique_ptr<Instance>> instances_ ABSL_GUARDED_BY(mutex_);
  int handling_ ABSL_GUARDED_BY(mutex_) = 0;
};

absl::Status PipeListener::Listen(std::vector<std::shared_ptr<const PipeServer>> servers) {
  ABSL_ASSIGN_OR_RETURN(pipe::Security security, pipe::Security::ForServer(sddl_));
  ABSL_ASSIGN_OR_RETURN(auto calls, pipe::NewPipeCalls(std::move(security)));
  calls_ = std::move(calls);
  closer_.emplace(calls_, kReadingTime);
  for (std::shared_ptr<const PipeServer>& server : servers) {
    std::string path = pipe::Path(server->name());
    pipes_.push_back({.server = std::move(server), .path = std::move(path)});
  }
  waiting_.emplace(pipes_.size(), Making());
  ABSL_ASSIGN_OR_RETURN(std::thread watcher, StartThread([this] { Watch(); }));
  watcher_ = std::move(watcher);
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
    const MutexLock lock(mutex_);
    wake_watcher_ = true;
    changed_.NotifyAll();
  };
  functions.warn = [this](size_t pipe, const absl::Status& why, uint64_t failures) {
    spdlog::log({__builtin_FILE(), __builtin_LINE(), ""}, spdlog::level::warn,
                "{}: cannot create another instance: {} ({} times so far)", pipes_[pipe].path,
                std::string(why.message()), failures);
  };
  return functions;
}

absl::Status PipeListener::TakeNames() {
  // Ten seconds suffice: another csi-proxy that starts simultaneously needs far less.
  const CallContext context(SteadyTime::Now() + absl::Seconds(10));
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
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
    for (const auto& [instance, owned] : instances_) instance->stream->Cancel();
  }
  // The watcher must be joined first, because it may post work.
  if (watcher_.joinable()) watcher_.join();
  const MutexLock lock(mutex_);
  // Cancelled operations end on threads of the port, which remove the instances.
  while (!instances_.empty() || handling_ > 0) changed_.Wait(mutex_);
}

absl::Status PipeListener::Await(size_t pipe, absl::StatusOr<void*> made) {
  if (!made.ok()) return made.status();
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<pipe::PipeStream> stream,
                        pipe::PipeStream::Create(closer_->Adopt(*made)));
  auto owned = std::make_unique<Instance>();
  Instance* const instance = owned.get();
  instance->listener = this;
  instance->pipe = pipe;
  instance->stream = std::move(stream);
  pipe::Stream::Result result;
  bool connected;
  {
    const MutexLock lock(mutex_);
    if (stopping_) return absl::CancelledError("stopping");
    waiting_->OnAdded(pipe);
    instances_.emplace(instance, std::move(owned));
    // Must hold the lock, so that Stop() finds either no instance or an operation to cancel.
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
  // Get() must run before the lock is taken, because it queries the system.
  if (error == ERROR_SUCCESS) {
    instance->client = clients_.Get(pipe::ClientOfInstance(instance->stream->handle()));
    instance->stream->SetTenant(instance->client->tenant.get());
  }
  {
    const MutexLock lock(mutex_);
    waiting_->OnTaken(pipe);
    if (stopping_) {
      gone = Remove(instance);
      return;
    }
    // An error such as ERROR_NO_DATA means that the client has already closed its end.
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
      const MutexLock lock(mutex_);
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
  std::shared_ptr<ServedConnection> promoted;
  {
    const MutexLock lock(mutex_);
    instance->received += bytes;
    const PrefaceMatch match =
        MatchPreface(absl::string_view(instance->bytes.data(), instance->received));
    const bool failed = error != ERROR_SUCCESS || bytes == 0 || stopping_ || !instance->listed;
    if (!failed && match == PrefaceMatch::kPartial) return true;
    if (!failed && match == PrefaceMatch::kComplete) {
      promoted = connections_->Promote(instance);
    } else if (instance->listed) {
      connections_->Drop(instance, failed ? nullptr : &ListenerCounters::dropped_garbage);
    }
    ended = Remove(instance);
  }
  if (promoted != nullptr) {
    const void* const tenant = promoted->client()->tenant.get();
    Serve(pipes_[ended->pipe].server, std::move(promoted),
          transport::NewPipeStream(std::move(ended->stream), tenant),
          {ended->bytes.data(), ended->received});
  }
  return false;
}

bool PipeListener::Admit(Instance* instance) {
  connections_->Count(&ListenerCounters::accepted);
  ConnectionBeforePreface* displaced;
  if (!connections_->Admit(instance, &displaced)) return false;
  if (displaced != nullptr) Cancel(displaced);
  // The watcher must wake earlier if this connection has the next deadline.
  if (connections_->next_deadline() == instance->deadline) {
    wake_watcher_ = true;
    changed_.NotifyAll();
  }
  return true;
}

// Closes connections that stay silent or idle, and retries instances that could not be made.
void PipeListener::Watch() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    wake_watcher_ = false;
    mutex_.Unlock();
    const SteadyTime retry = std::min(waiting_->Retry(), connections_->EndIdle(SteadyTime::Now()));
    mutex_.Lock();
    const SteadyTime now = SteadyTime::Now();
    while (ConnectionBeforePreface* const overdue = connections_->DropOverdue(now)) Cancel(overdue);
    const SteadyTime next = std::min({retry, connections_->next_deadline(), now + kLongestWait});
    if (stopping_ || wake_watcher_) continue;
    changed_.WaitUntil(mutex_, next);
  }
}

}  // namespace

std::unique_ptr<Listener> NewListener(PipePlace place, ListenerLimits limits,
                                      std::vector<CallObserver*> observers) {
  return std::make_unique<PipeListener>(std::move(place.sddl), limits, std::move(observers));
}

}  // namespace csi_proxy::rpc

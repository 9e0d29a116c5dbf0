#include <algorithm>
#include <utility>

#include "client/cpp/link.h"
#include "client/cpp/pipe_owner.h"
#include "client/grpc/endpoint.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/base/status_macros.h"
#include "server/names/win32_error.h"
#include "server/pipe/object_security.h"
#include "server/pipe/pipe.h"
#include "server/platform/token_windows.h"

namespace csi_proxy::client {
namespace {

// How long a server may take to answer on a new connection before another connection is opened. The
// time is first kFirstPatience, and doubles up to kMostPatience. An instance may lack a server,
// because go-winio's listener never serves its first instance.
constexpr absl::Duration kFirstPatience = absl::Seconds(1), kMostPatience = absl::Seconds(8);

// How long Get() returns a failure before it tries again: first kFirstPause, finally kLongestPause.
constexpr absl::Duration kFirstPause = absl::Milliseconds(10),
                         kLongestPause = absl::Milliseconds(50);

// Records whether the server has answered, and whether the connection has ended. Thread-safe.
class Progress {
 public:
  enum Heard { kNothing, kAnswer, kEnd };

  void Answer() {
    const MutexLock lock(mutex_);
    if (heard_ == kNothing) heard_ = kAnswer;
    answered_ = true;
    changed_.NotifyAll();
  }
  void End() {
    const MutexLock lock(mutex_);
    heard_ = kEnd;
    changed_.NotifyAll();
  }
  Heard heard() const {
    const MutexLock lock(mutex_);
    return heard_;
  }
  bool answered() const {
    const MutexLock lock(mutex_);
    return answered_;
  }
  Heard Wait(SteadyTime deadline) {
    const MutexLock lock(mutex_);
    while (heard_ == kNothing && changed_.WaitUntil(mutex_, deadline)) {
    }
    return heard_;
  }

 private:
  mutable Mutex mutex_;
  Condition changed_;
  Heard heard_ ABSL_GUARDED_BY(mutex_) = kNothing;
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;
};

struct Attempt {
  std::shared_ptr<Link> link;
  std::shared_ptr<Progress> progress;
  SteadyTime give_up = SteadyTime::InfiniteFuture();
};

// Returns the owner of the pipe of `handle`. REQUIRES: `handle` was opened with READ_CONTROL;
// generic read access includes READ_CONTROL.
absl::StatusOr<PipeOwner> OwnerOf(HANDLE handle) {
  ABSL_ASSIGN_OR_RETURN(const pipe::ObjectSecurity security, pipe::SecurityOf(handle));
  ABSL_ASSIGN_OR_RETURN(std::string self, win32::UserOfThisProcess());
  return PipeOwner{.owner = security.owner,
                   .owner_is_system = security.owner == kSystemSid,
                   .self = std::move(self)};
}

// Opens the pipe, checks its owner and makes a gRPC channel over it. Calls `when_ended`, on a
// thread outside gRPC, after the connection has ended.
absl::StatusOr<Attempt> OpenLink(const std::string& path,
                                 std::function<void(const Progress*)> when_ended) {
  absl::StatusOr<win32::UniqueHandle> handle = pipe::Open(path, SteadyTime::InfinitePast());
  if (HasWin32Code(handle.status(), win32_error::kAccessDenied)) {
    return absl::UnavailableError(
        "access denied: by default only SYSTEM and elevated administrators may open it; the access "
        "list of the service's pipes says who else may");
  }
  if (!handle.ok()) return absl::UnavailableError(handle.status().message());
  const absl::StatusOr<PipeOwner> who = OwnerOf(handle->get());
  if (!who.ok()) return absl::UnavailableError(who.status().message());
  ABSL_RETURN_IF_ERROR(CheckPipeOwner(path, *who));
  absl::StatusOr<std::unique_ptr<pipe::PipeStream>> stream =
      pipe::PipeStream::Create(*std::move(handle));
  if (!stream.ok()) return absl::UnavailableError(stream.status().message());
  auto progress = std::make_shared<Progress>();
  pipe::Channel made = pipe::NewChannel(
      *std::move(stream),
      {.answered = [progress] { progress->Answer(); },
       .closed =
           [progress, when_ended] {
             progress->End();
             pipe::IoPort::Get().Post([progress, when_ended] { when_ended(progress.get()); });
           }});
  if (made.channel == nullptr) return absl::UnavailableError("gRPC does not take the connection");
  return Attempt{.link = std::make_shared<Link>(std::move(made.channel), std::move(made.close)),
                 .progress = std::move(progress)};
}

}  // namespace

struct RemoteChannel::Dialer::State {
  Mutex mutex;
  Attempt current ABSL_GUARDED_BY(mutex);
  absl::Duration patience ABSL_GUARDED_BY(mutex) = kFirstPatience;
  // The error of the last failed attempt. The next attempt is at `retry_at` or later.
  absl::Status failure ABSL_GUARDED_BY(mutex);
  absl::Duration pause ABSL_GUARDED_BY(mutex) = kFirstPause;
  SteadyTime retry_at ABSL_GUARDED_BY(mutex) = SteadyTime::InfinitePast();

  void Fail(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    failure = std::move(why);
    retry_at = SteadyTime::Now() + pause;
    pause = std::min(pause * 2, kLongestPause);
  }

  // Removes and returns the connection. The caller must destroy it after releasing the mutex.
  Attempt Discard() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (!current.progress->answered()) Fail(absl::UnavailableError("it does not answer"));
    return std::exchange(current, {});
  }
};

RemoteChannel::Dialer::Dialer(std::string path)
    : path_(std::move(path)), state_(std::make_shared<State>()) {}
RemoteChannel::Dialer::~Dialer() = default;

absl::StatusOr<std::shared_ptr<Link>> RemoteChannel::Dialer::Get(SteadyTime deadline) {
  Attempt attempt, discarded;
  {
    const MutexLock lock(state_->mutex);
    Attempt& current = state_->current;
    const SteadyTime now = SteadyTime::Now();
    if (current.link != nullptr) {
      const Progress::Heard heard = current.progress->heard();
      if (heard == Progress::kEnd || current.link->stuck()) {
        discarded = state_->Discard();
      } else if (heard == Progress::kAnswer) {
        state_->patience = kFirstPatience;
        state_->pause = kFirstPause;
        return current.link;
      } else if (now >= current.give_up) {
        state_->patience = std::min(state_->patience * 2, kMostPatience);
        discarded = state_->Discard();
      }
    }
    if (current.link == nullptr) {
      if (now < state_->retry_at) return state_->failure;
      // Discards a connection as soon as it ends, because an open handle keeps the pipe's name
      // after the end of the service.
      const auto let_go = [weak = std::weak_ptr(state_)](const Progress* ended) {
        const std::shared_ptr<State> state = weak.lock();
        if (state == nullptr) return;
        Attempt gone;
        const MutexLock state_lock(state->mutex);
        if (state->current.progress.get() == ended) gone = state->Discard();
      };
      absl::StatusOr<Attempt> made = OpenLink(path_, let_go);
      if (!made.ok()) {
        state_->Fail(made.status());
        return made.status();
      }
      current = *std::move(made);
      current.give_up = now + state_->patience;
    }
    attempt = current;
  }
  if (attempt.progress->Wait(deadline) == Progress::kAnswer) return attempt.link;
  return absl::UnavailableError("it does not answer");
}

}  // namespace csi_proxy::client

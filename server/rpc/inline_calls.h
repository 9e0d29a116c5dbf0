// The calls that are done on the threads that read connections.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/condition.h"
#include "server/base/start_thread.h"

namespace csi_proxy::rpc {

// Bounds the calls that threads of connections do themselves: a quick call ends sooner there than
// on another thread that must be woken. Any call may block, for instance on a dead share, so some
// thread always goes on reading (leader and followers). Thread-safe.
class InlineCalls {
 public:
  class Call {
   public:
    // Returns true if the client no longer waits for the answer: gRPC does not report this before
    // the function that it called returns.
    virtual bool IsCancelled() const = 0;
    // Tells the call that it was cancelled. Called at most once.
    virtual void Cancel() = 0;

   protected:
    ~Call() = default;
  };

  // Calls `on_slow_call`, if set, repeatedly on a thread of its own while a call has been under way
  // for more than 20 ms. `on_slow_call` must not block.
  explicit InlineCalls(size_t most, ThreadStarter start_thread = StartThread,
                       std::function<void()> on_slow_call = nullptr)
      : most_(most),
        start_thread_(std::move(start_thread)),
        on_slow_call_(std::move(on_slow_call)) {}
  ~InlineCalls();
  InlineCalls(const InlineCalls&) = delete;
  InlineCalls& operator=(const InlineCalls&) = delete;

  // Returns true if this thread may do the call itself; then the caller must call End().
  bool TryBegin(Call* call);
  void End(Call* call);

 private:
  struct UnderWay {
    Call* call;
    bool cancelled = false;
    // The watcher has seen the call before.
    bool is_slow = false;
  };

  void Watch();

  const size_t most_;
  const ThreadStarter start_thread_;
  const std::function<void()> on_slow_call_;
  Mutex mutex_;
  Condition wake_;
  std::vector<UnderWay> calls_ ABSL_GUARDED_BY(mutex_);
  bool used_ ABSL_GUARDED_BY(mutex_) = false;  // since the watcher last looked
  bool asleep_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread watcher_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::rpc

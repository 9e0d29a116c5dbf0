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

// A quick call is done sooner on the thread that has read it than on another that must be woken.
// But any call may block, on a dead share for instance, so some thread always goes on reading:
// leader and followers. Thread-safe.
class InlineCalls {
 public:
  class Call {
   public:
    // Tells whether nobody waits for the answer any more: gRPC does not say so by itself before the
    // function it has called returns.
    virtual bool IsCancelled() const = 0;
    // Lets the call know, at most once.
    virtual void Cancel() = 0;

   protected:
    ~Call() = default;
  };

  // `linger`, if any, is called now and then, on a thread of its own, while a call is under way
  // that has been for 20 ms. Must not block.
  explicit InlineCalls(size_t most, ThreadStarter start_thread = StartThread,
                       std::function<void()> linger = nullptr)
      : most_(most), start_thread_(std::move(start_thread)), linger_(std::move(linger)) {}
  ~InlineCalls();
  InlineCalls(const InlineCalls&) = delete;
  InlineCalls& operator=(const InlineCalls&) = delete;

  // Tells whether this thread may do the call itself. After true, End() must follow.
  bool TryBegin(Call* call);
  void End(Call* call);

 private:
  struct UnderWay {
    Call* call;
    bool cancelled = false;
    // The watcher has seen the call before.
    bool lingers = false;
  };

  void Watch();

  const size_t most_;
  const ThreadStarter start_thread_;
  const std::function<void()> linger_;
  Mutex mutex_;
  Condition wake_;
  std::vector<UnderWay> calls_;
  bool used_ = false;  // since the watcher last looked
  bool asleep_ = false;
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace csi_proxy::rpc

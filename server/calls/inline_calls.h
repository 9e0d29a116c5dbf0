// Limits the calls that run inline: on the threads that read connections.
#pragma once

#include <atomic>
#include <cstddef>

namespace csi_proxy::rpc {

// A quick call ends sooner on the thread that has read it than on a thread that must be woken. But
// any call may block, for instance on an unreachable share. So `most` must be less than the number
// of reading threads: then one thread is always free to read (leader/followers). Thread-safe.
class InlineCalls {
 public:
  explicit InlineCalls(size_t most) : most_(most) {}

  // Returns true if this thread may run a call inline; then the caller must call End().
  bool TryBegin() {
    if (calls_.fetch_add(1) < most_) return true;
    End();
    return false;
  }
  void End() { calls_.fetch_sub(1); }

 private:
  const size_t most_;
  std::atomic<size_t> calls_ = 0;
};

}  // namespace csi_proxy::rpc

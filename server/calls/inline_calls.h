// The calls that are done on the threads that read connections.
#pragma once

#include <atomic>
#include <cstddef>

namespace csi_proxy::rpc {

// Bounds the calls that reading threads do themselves: a quick call ends sooner there than on
// another thread that must be woken. Any call may block, for instance on a dead share, so some
// thread always goes on reading (leader and followers). Thread-safe.
class InlineCalls {
 public:
  explicit InlineCalls(size_t most) : most_(most) {}

  // Returns true if this thread may do a call itself; then the caller must call End().
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

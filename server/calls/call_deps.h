// The threads that calls run on and the observers of calls, shared by all versions of a group.
// Independent of gRPC and protobuf.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/calls/executor.h"
#include "server/calls/inline_calls.h"
#include "server/calls/method_info.h"

namespace csi_proxy::rpc {

// The resources of which each tenant may use only a part.
enum class Limit { kConnections, kCalls };
inline constexpr std::array<const char*, 2> kLimitNames = {"connections", "calls"};

// There is one executor for each API group.
inline constexpr size_t kMaxExecutors = 8;

// Observes every call. Thread-safe. Must be quick, because the threads that read, run or refuse
// calls wait for it.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void OnStart(const MethodInfo& /*method*/) {}
  // Reports a call that has ended. `call` contains its client and trace. `duration` counts from the
  // call's arrival, including the queue.
  virtual void OnDone(const MethodInfo& method, const CallContext& call, const absl::Status& status,
                      absl::Duration duration) = 0;
  // Reports the `times`th time that a client has lost a connection or call because of `limit`.
  virtual void OnLimit(const Peer& /*peer*/, Limit /*limit*/, uint64_t /*times*/) {}
};

// Counts the calls under way. A stop shuts the gate, so that new calls are refused, and waits for
// the calls inside. Thread-safe.
class CallGate {
 public:
  // Returns false if the gate is shut. After true the caller must call Leave().
  bool Enter() {
    if ((state_.fetch_add(1) & kShut) == 0) return true;
    Leave();
    return false;
  }
  void Leave() {
    // Only a shut gate has a waiter.
    if (state_.fetch_sub(1) != (kShut | 1)) return;
    const MutexLock lock(mutex_);
    emptied_.NotifyAll();
  }
  void Shut() { state_.fetch_or(kShut); }
  // Waits until all calls have left. Returns false at `deadline`. REQUIRES: Shut() was called.
  bool AwaitEmpty(SteadyTime deadline) {
    const MutexLock lock(mutex_);
    while (state_.load() != kShut && emptied_.WaitUntil(mutex_, deadline)) {
    }
    return state_.load() == kShut;
  }

 private:
  static constexpr uint64_t kShut = uint64_t{1} << 63;

  // The number of calls inside, plus kShut if the gate is shut.
  std::atomic<uint64_t> state_ = 0;
  Mutex mutex_;
  Condition emptied_;
};

// REQUIRES: every object pointed to outlives the services made with CallDeps; `executor` is not
// null.
struct CallDeps {
  Executor* executor = nullptr;
  size_t executor_index = 0;  // of `executor`, in Tenant::queues
  std::vector<CallObserver*> observers = {};
  // The limit of a call's duration, even if its own deadline is later.
  absl::Duration max_call_duration = absl::InfiniteDuration();
  // The caller of embedded calls.
  Peer own_process = {};

  // The next two are not null for remote calls, and unused for embedded calls.
  InlineCalls* inline_calls = nullptr;
  CallGate* gate = nullptr;
};

}  // namespace csi_proxy::rpc

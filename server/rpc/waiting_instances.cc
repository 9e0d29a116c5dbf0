#include "server/rpc/waiting_instances.h"

#include <algorithm>
#include <utility>

#include "csi_proxy/steady_time.h"

namespace csi_proxy::rpc {

WaitingInstances::WaitingInstances(size_t pipes, Functions functions)
    : functions_(std::move(functions)), pipes_(pipes) {}

void WaitingInstances::OnAdded(size_t pipe) {
  const MutexLock lock(mutex_);
  ++pipes_[pipe].waiting;
}

void WaitingInstances::OnTaken(size_t pipe) {
  const MutexLock lock(mutex_);
  --pipes_[pipe].waiting;
}

void WaitingInstances::Replenish(size_t pipe) {
  {
    const MutexLock lock(mutex_);
    // The thread that makes instances checks the count again before it stops.
    if (pipes_[pipe].making || pipes_[pipe].retry_at != SteadyTime::InfiniteFuture()) return;
    pipes_[pipe].making = true;
  }
  MakeInstances(pipe);
}

void WaitingInstances::MakeInstances(size_t pipe) {
  for (size_t made = 0;; ++made) {
    {
      const MutexLock lock(mutex_);
      if (made > 0) pipes_[pipe].back_off.Succeeded();
      if (stopping_ || pipes_[pipe].waiting >= kEnough) {
        pipes_[pipe].making = false;
        return;
      }
    }
    if (made == kMostATurn) break;
    const absl::Status status = functions_.make(pipe);
    if (!status.ok()) return Fail(pipe, status);
  }
  if (!functions_.post([this, pipe] { MakeInstances(pipe); })) {
    Fail(pipe, absl::ResourceExhaustedError("its next turn could not be queued"));
  }
}

void WaitingInstances::Fail(size_t pipe, const absl::Status& why) {
  uint64_t failures = 0;
  {
    const MutexLock lock(mutex_);
    Pipe& failed = pipes_[pipe];
    failed.making = false;
    if (stopping_) return;
    failed.retry_at = functions_.now() + failed.back_off.Failed();
    if (failed.back_off.worth_logging()) failures = failed.back_off.failures();
  }
  if (failures > 0) functions_.warn(pipe, why, failures);
  functions_.wake();
}

SteadyTime WaitingInstances::Retry() {
  const SteadyTime now = functions_.now();
  std::vector<size_t> due;
  {
    const MutexLock lock(mutex_);
    for (size_t pipe = 0; pipe < pipes_.size(); ++pipe) {
      if (pipes_[pipe].retry_at > now) continue;
      pipes_[pipe].retry_at = SteadyTime::InfiniteFuture();
      due.push_back(pipe);
    }
  }
  for (const size_t pipe : due) Replenish(pipe);
  SteadyTime next = SteadyTime::InfiniteFuture();
  const MutexLock lock(mutex_);
  for (const Pipe& pipe : pipes_) next = std::min(next, pipe.retry_at);
  return next;
}

void WaitingInstances::Stop() {
  const MutexLock lock(mutex_);
  stopping_ = true;
}

}  // namespace csi_proxy::rpc

#include "server/transport/rescuer.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/base/start_thread.h"

namespace csi_proxy::transport {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(20);
// The thread sleeps after this many looks without a run.
constexpr int kIdleLooks = 50;

}  // namespace

Rescuer::Run::Run(std::shared_ptr<Rescued> rescued) : rescued_(std::move(rescued)) {
  is_watched_ = Get().Add(this);
}
Rescuer::Run::~Run() {
  if (is_watched_) Get().Remove(this);
}

Rescuer& Rescuer::Get() {
  static auto* const rescuer = new Rescuer();
  return *rescuer;
}

bool Rescuer::Add(Run* run) {
  const MutexLock lock(mutex_);
  if (!has_thread_) {
    absl::StatusOr<std::thread> thread = StartThread([this] { Watch(); });
    if (!thread.ok()) return false;
    thread->detach();
    has_thread_ = true;
  }
  runs_.push_back(run);
  is_used_ = true;
  if (std::exchange(is_asleep_, false)) wake_.NotifyOne();
  return true;
}

void Rescuer::Remove(Run* run) {
  const MutexLock lock(mutex_);
  *std::find(runs_.begin(), runs_.end(), run) = runs_.back();
  runs_.pop_back();
}

void Rescuer::Watch() {
  const MutexLock lock(mutex_);
  for (int idle = 0;;) {
    std::vector<std::shared_ptr<Rescued>> slow;
    for (Run* const run : runs_) {
      if (++run->looks_ == 2) slow.push_back(run->rescued_);
    }
    if (!slow.empty()) {
      mutex_.Unlock();
      for (const auto& rescued : slow) rescued->Rescue();
      slow.clear();
      mutex_.Lock();
    }
    idle = std::exchange(is_used_, false) || !runs_.empty() ? 0 : idle + 1;
    if (idle < kIdleLooks) {
      wake_.WaitFor(mutex_, kLook);
      continue;
    }
    idle = 0;
    is_asleep_ = true;
    while (is_asleep_) wake_.Wait(mutex_);
  }
}

}  // namespace csi_proxy::transport

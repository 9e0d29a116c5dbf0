#include "server/host/detached_runs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/base/start_thread.h"
#include "server/base/status_macros.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

// The interval at which a waiting call checks its deadline and cancellation.
constexpr absl::Duration kLook = absl::Milliseconds(10);

}  // namespace

DetachedRuns::~DetachedRuns() {
  End(absl::InfiniteDuration());
  JoinEnded();
}

bool DetachedRuns::End(absl::Duration limit) {
  if (!stopping_.HasBeenNotified()) stopping_.Notify();
  const SteadyTime until = SteadyTime::Now() + limit;
  const MutexLock lock(mutex_);
  while (!running_.empty()) {
    if (SteadyTime::Now() >= until) return false;
    changed_.WaitFor(mutex_, kLook);
  }
  return true;
}

absl::Status DetachedRuns::Await(const CallContext& context, const std::string& object,
                                 Whose whose) {
  const auto is_running = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::ranges::any_of(running_, [&](const auto& one) {
      return std::ranges::count(one->objects, object) > 0 &&
             (one->is_left || whose == Whose::kAll) &&
             (one->tenant == context.peer().tenant || whose != Whose::kLeftOfTenant);
    });
  };
  {
    const MutexLock lock(mutex_);
    if (!is_running()) return absl::OkStatus();
  }
  const YieldSlot yielded(context);
  const MutexLock lock(mutex_);
  while (is_running()) {
    if (const absl::Status over = context.Check(); !over.ok()) {
      return Prefixed(absl::StrCat("Windows has not finished an earlier call for ", object), over);
    }
    changed_.WaitFor(mutex_, kLook);
  }
  return absl::OkStatus();
}

absl::Status DetachedRuns::Run(const CallContext& context, std::vector<std::string> objects,
                               Change change, absl::Duration longest) {
  ABSL_RETURN_IF_ERROR(context.Check());
  JoinEnded();
  const YieldSlot yielded(context);
  const auto running = std::make_shared<Running>();
  running->objects = std::move(objects);
  const std::string& object = running->objects.front();
  running->tenant = context.peer().tenant;
  {
    const MutexLock lock(mutex_);
    const auto left = std::ranges::count_if(
        running_, [&](const auto& one) { return one->is_left && one->tenant == running->tenant; });
    if (left >= most_left_) {
      return absl::ResourceExhaustedError(absl::StrCat(object, ": Windows has not finished ", left,
                                                       " earlier calls of this tenant"));
    }
    ABSL_ASSIGN_OR_RETURN(running->thread,
                          StartThread([this, running, longest, change = std::move(change)] {
                            Execute(running, change, longest);
                          }));
    running_.push_back(running);
    while (!running->result.has_value()) {
      if (const absl::Status over = context.Check(); !over.ok()) {
        running->is_left = true;
        return Prefixed(absl::StrCat("Windows goes on with the call for ", object), over);
      }
      changed_.WaitFor(mutex_, kLook);
    }
  }
  running->thread.join();
  return *std::move(running->result);
}

void DetachedRuns::Execute(const std::shared_ptr<Running>& running, const Change& change,
                           absl::Duration longest) {
  const SteadyTime begin = SteadyTime::Now();
  absl::Status result = change(CallContext(begin + longest, &stopping_));
  bool is_left;
  {
    const MutexLock lock(mutex_);
    running->result = result;
    is_left = running->is_left;
  }
  if (is_left && log_ != nullptr) {
    log_(absl::StrCat(
        "a call of tenant \"", running->tenant, "\" for ", running->objects.front(),
        ", which its caller has left, ended after ",
        absl::FormatDuration(absl::Trunc(SteadyTime::Now() - begin, absl::Milliseconds(1))), ": ",
        result.ok() ? "done" : result.message()));
  }
  const MutexLock lock(mutex_);
  if (is_left) ended_.push_back(std::move(running->thread));
  running_.remove(running);
  changed_.NotifyAll();
}

void DetachedRuns::JoinEnded() {
  std::list<std::thread> ended;
  {
    const MutexLock lock(mutex_);
    ended.swap(ended_);
  }
  for (std::thread& thread : ended) thread.join();
}

}  // namespace csi_proxy::host

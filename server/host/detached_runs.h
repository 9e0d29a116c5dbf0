// Runs functions on separate threads, so that a call can leave them when its time is over.
//
// Windows may go on after the caller has given up: a flush cannot be stopped, a method of WMI may
// continue, and a disk may never answer a read. A late removal would remove a share, disk or
// session that another call has set up in the meantime. So a call that sets up an object first
// waits for the end of the object's changes. A teardown first waits for the end of the object's
// late set-ups.
#pragma once

#include <algorithm>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/log_function.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/base/status_macros.h"

namespace csi_proxy::host {

// Thread-safe. The name of an object is any text that all its runs use, such as `disk 3`. Changes,
// set-ups, flushes, reads and Host::looks() each use an instance of their own, so that disks and
// servers that do not answer cannot use up a tenant's limit for changes. REQUIRES: the data of a
// run outlives the DetachedRuns.
class DetachedRuns {
 public:
  using Change = std::function<absl::Status(const CallContext&)>;

  // Refuses a tenant's further runs while `most_left` of its runs go on without a caller, so that
  // few threads can hang. `log`, if set, gets a line when such a run ends. REQUIRES: `most_left` is
  // positive.
  explicit DetachedRuns(int most_left, LineFunction log = nullptr)
      : most_left_(most_left), log_(std::move(log)) {}
  // Calls End() without a limit.
  ~DetachedRuns();
  DetachedRuns(const DetachedRuns&) = delete;
  DetachedRuns& operator=(const DetachedRuns&) = delete;

  // Cancels the runs under way and waits for their end. Returns false if a run is still under way
  // after `limit`. REQUIRES: no call is in Run() or Read(), and none follows.
  bool End(absl::Duration limit) ABSL_LOCKS_EXCLUDED(mutex_);

  // Runs `change` and returns its result.
  //
  // If `context` ends first, returns its error, naming the first object; the change goes on, and is
  // cancelled after `longest`. Returns RESOURCE_EXHAUSTED without a change if the tenant's callers
  // have left `most_left` runs that are still under way. Yields the call's slot. Does not wait for
  // earlier changes, so that a repeated removal succeeds although Windows has lost the first
  // removal. REQUIRES: `objects` is not empty.
  absl::Status Run(const CallContext& context, std::vector<std::string> objects, Change change,
                   absl::Duration longest = absl::Minutes(5));

  // Selects the runs of an object that Await() waits for: all runs, the runs that their callers
  // have left, or only the runs that callers of the same tenant have left.
  enum class Whose { kAll, kLeft, kLeftOfTenant };

  // Waits until no run that `whose` selects is under way. Returns the error of `context` if it ends
  // first.
  absl::Status Await(const CallContext& context, const std::string& object,
                     Whose whose = Whose::kAll);

  // Runs `read` as Run() does and returns its result, or the error of `context`. First waits for
  // reads of the object that their callers have left, so that repeats of a hanging read start no
  // more threads. Cancels the read at the deadline of `context`, at the latest after two minutes.
  template <typename T>
  absl::StatusOr<T> Read(const CallContext& context, const std::string& object,
                         std::function<absl::StatusOr<T>(const CallContext&)> read) {
    const auto result = std::make_shared<absl::StatusOr<T>>();
    absl::Status ended = Await(context, object, Whose::kLeft);
    if (ended.ok()) {
      ended = Run(
          context, {object},
          [result, read = std::move(read)](const CallContext& run) {
            *result = read(run);
            return absl::OkStatus();
          },
          std::min(absl::Minutes(2), context.deadline() - SteadyTime::Now()));
    }
    if (ended.ok()) return std::move(*result);
    ABSL_RETURN_IF_ERROR(context.Check());
    return ended;
  }

 private:
  struct Running {
    std::vector<std::string> objects;
    std::string tenant;
    std::thread thread;
    bool is_left = false;
    std::optional<absl::Status> result;
  };

  void Execute(const std::shared_ptr<Running>& running, const Change& change,
               absl::Duration longest) ABSL_LOCKS_EXCLUDED(mutex_);
  // Joins the threads of ended runs that their callers had left.
  void JoinEnded() ABSL_LOCKS_EXCLUDED(mutex_);

  const int most_left_;
  const LineFunction log_;
  Mutex mutex_;
  Condition changed_;
  absl::Notification stopping_;
  std::list<std::shared_ptr<Running>> running_ ABSL_GUARDED_BY(mutex_);
  std::list<std::thread> ended_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::host

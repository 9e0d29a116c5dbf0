// Runs of the machine that outlive the calls that asked for them, each on a thread of its own.
//
// Windows can go on after a caller has given up: it cannot be told to stop a flush, a method of WMI
// may go on when nobody waits for it, and a disk that is mute may never answer a read. A removal
// that takes effect late would take the share, disk or session from the call that has set it up
// since. So a call that sets up an object waits for the end of its changes.
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
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/base/status_macros.h"

namespace csi_proxy::host {

// Thread-safe. An object is named by any text that all its runs use, such as `disk 3`. Changes and
// reads have an instance each, so that mute disks use up no tenant's changes.
// REQUIRES: what a run refers to outlives the DetachedRuns.
class DetachedRuns {
 public:
  using Change = std::function<absl::Status(const CallContext&)>;

  // A tenant may leave `most_left` runs, which bounds the threads that it can make hang.
  explicit DetachedRuns(int most_left) : most_left_(most_left) {}
  // Cancels the runs under way and waits for their end. REQUIRES: no call is in Run() or Read().
  ~DetachedRuns();
  DetachedRuns(const DetachedRuns&) = delete;
  DetachedRuns& operator=(const DetachedRuns&) = delete;

  // Runs `change` of the objects, of which errors name the first, and returns its result. If
  // `context` ends first, returns its error, which says what goes on; the change then runs to its
  // own end, but is cancelled after `longest`. RESOURCE_EXHAUSTED, without a change, if runs that
  // the caller's tenant has left are at the limit and still run. Yields the call's slot. Does not
  // wait for earlier changes of the object, so that a repeated removal succeeds although Windows
  // has lost the first.
  absl::Status Run(const CallContext& context, std::vector<std::string> objects, Change change,
                   absl::Duration longest = absl::Minutes(5));

  // Waits until no run of the object is under way; if `only_left`, none that its caller has left.
  // Returns the error of a `context` that ends first.
  absl::Status Await(const CallContext& context, const std::string& object, bool only_left = false);

  // Runs `read` likewise and returns its result. Waits for reads of the object that their callers
  // have left, so that repeated calls on one that never answers hold one thread. The read is
  // cancelled at the deadline of `context`, at the latest after two minutes.
  template <typename T>
  absl::StatusOr<T> Read(const CallContext& context, const std::string& object,
                         std::function<absl::StatusOr<T>(const CallContext&)> read) {
    const auto result = std::make_shared<absl::StatusOr<T>>();
    absl::Status ended = Await(context, object, true);
    if (ended.ok()) {
      ended = Run(
          context, {object},
          [result, read = std::move(read)](const CallContext& run) {
            *result = read(run);
            return absl::OkStatus();
          },
          std::min(absl::Minutes(2), context.deadline() - SteadyTime::Now()));
    }
    if (ended.ok()) return *std::move(result);
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
  // Joins the threads of runs that were left and have ended.
  void JoinEnded() ABSL_LOCKS_EXCLUDED(mutex_);

  const int most_left_;
  Mutex mutex_;
  Condition changed_;
  absl::Notification stopping_;
  std::list<std::shared_ptr<Running>> running_ ABSL_GUARDED_BY(mutex_);
  std::list<std::thread> ended_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::host

// Changes of the machine that outlive the calls that asked for them.
//
// Windows can finish a change after its caller has given up: it cannot be told to stop a flush, and
// a method of WMI may go on when nobody waits for it. A removal that takes effect late would take
// the share, disk or session from the call that has set it up since. So each such change has a
// thread of its own, and a call that sets up an object waits for the end of its changes.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/base/condition.h"

namespace csi_proxy::host {

// Thread-safe. An object is named by any text that all its changes use, such as `disk 3`.
class Changes {
 public:
  using Change = std::function<absl::Status(const CallContext&)>;

  Changes() = default;
  // Cancels the changes under way and waits for their end. REQUIRES: no call is in Run().
  ~Changes();
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  // Runs `change` and returns its result. If `context` ends first, returns its error, which says
  // what goes on; the change then runs to its own end, but is cancelled after `longest`.
  // RESOURCE_EXHAUSTED, without a change, if the caller's tenant has left 32 changes that still
  // run. Yields the call's slot. Does not wait for earlier changes of the object, so that a
  // repeated removal succeeds although Windows has lost the first.
  // REQUIRES: what `change` refers to outlives the Changes.
  absl::Status Run(const CallContext& context, const std::string& object, Change change,
                   absl::Duration longest = absl::Minutes(5));

  // Waits until no change of the object is under way. Returns the error of a `context` that ends
  // first.
  absl::Status Await(const CallContext& context, const std::string& object);

 private:
  struct Running {
    std::string object;
    std::string tenant;
    std::thread thread;
    bool is_left = false;
    std::optional<absl::Status> result;
  };

  void Execute(const std::shared_ptr<Running>& running, const Change& change,
               absl::Duration longest) ABSL_LOCKS_EXCLUDED(mutex_);
  // Joins the threads of changes that were left and have ended.
  void JoinEnded() ABSL_LOCKS_EXCLUDED(mutex_);

  Mutex mutex_;
  Condition changed_;
  absl::Notification stopping_;
  std::list<std::shared_ptr<Running>> running_ ABSL_GUARDED_BY(mutex_);
  std::list<std::thread> ended_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::host

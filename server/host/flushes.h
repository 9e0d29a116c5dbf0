// Flushes volumes on threads of their own, because a flush of a broken disk may never return and
// Windows cannot be told to give it up.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "csi_proxy/call_context.h"
#include "server/base/condition.h"
#include "server/machine/os.h"

namespace csi_proxy::host {

// Thread-safe. Has at most one thread for each volume.
class Flushes {
 public:
  // REQUIRES: `os` outlives the object.
  explicit Flushes(machine::Os* os) : os_(*os) {}
  // Waits for the flushes under way.
  ~Flushes();
  Flushes(const Flushes&) = delete;
  Flushes& operator=(const Flushes&) = delete;

  // Calls Os::Flush() without a worker slot. DEADLINE_EXCEEDED or CANCELLED if `context` ends
  // first; the flush then goes on, and a later call waits for its end before it flushes the volume
  // itself.
  absl::Status Flush(const CallContext& context, const std::string& volume);

 private:
  struct Run {
    absl::Notification done;
    absl::Status result;  // set before `done`
    std::thread thread;
  };

  machine::Os& os_;
  Mutex mutex_;
  // By volume. A run stays until a later call of the volume, or the destructor, joins its thread.
  std::map<std::string, std::shared_ptr<Run>> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::host

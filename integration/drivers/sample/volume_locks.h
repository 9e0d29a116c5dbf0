#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy::sample_driver {

// Allows one operation at a time for each volume. Orchestrators try to do the same, but may lose
// track and call again; the plugin must then refuse
// (https://github.com/container-storage-interface/spec/blob/v1.13.0/spec.md#concurrency).
// Thread-safe.
class VolumeLocks {
 public:
  // Locks the volume until the result is destroyed. Returns ABORTED if it is locked.
  absl::StatusOr<std::shared_ptr<void>> Acquire(const std::string& volume_id) {
    std::lock_guard lock(mutex_);
    if (!held_.insert(volume_id).second) {
      return absl::AbortedError(
          absl::StrCat("volume ", volume_id, ": another operation on it is under way"));
    }
    return std::shared_ptr<void>(this, [this, volume_id](void*) {
      std::lock_guard lock(mutex_);
      held_.erase(volume_id);
    });
  }

 private:
  std::mutex mutex_;
  std::unordered_set<std::string> held_;
};

}  // namespace csi_proxy::sample_driver

// Counts the arrivals and departures of disks and volumes that Windows reports.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "server/base/condition.h"

namespace csi_proxy::machine {

// Registers with the Plug and Play manager at the first Count(). If the registration fails, the
// count never changes, and waits last their whole limit. Thread-safe.
class DeviceChanges {
 public:
  DeviceChanges() = default;
  // REQUIRES: no thread is in Await().
  ~DeviceChanges();
  DeviceChanges(const DeviceChanges&) = delete;
  DeviceChanges& operator=(const DeviceChanges&) = delete;

  // See Os::DeviceChanges() and Os::AwaitDeviceChange().
  uint64_t Count();
  void Await(uint64_t seen, absl::Duration limit);

  // Counts an arrival or departure, and ends the waits.
  void Announce();

 private:
  void Register() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  Condition changed_;
  uint64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  bool registered_ ABSL_GUARDED_BY(mutex_) = false;
  // Windows' handles, one for each kind of device.
  std::vector<void*> registrations_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::machine

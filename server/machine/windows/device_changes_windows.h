// Learns from Windows that disks and volumes come and go.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "server/base/condition.h"

namespace csi_proxy::machine {

// Registers with the Plug and Play manager when it is first asked. If that fails, the number never
// changes, and waits last as long as they may. Thread-safe.
class DeviceChanges {
 public:
  DeviceChanges() = default;
  // Nobody may be waiting.
  ~DeviceChanges();
  DeviceChanges(const DeviceChanges&) = delete;
  DeviceChanges& operator=(const DeviceChanges&) = delete;

  // As Os::DeviceChanges() and Os::AwaitDeviceChange().
  uint64_t Count();
  void Await(uint64_t seen, absl::Duration limit);

  // A disk or volume has come or gone.
  void Announce();

 private:
  void Register();

  Mutex mutex_;
  Condition changed_;
  uint64_t count_ = 0;
  bool registered_ = false;
  // Handles of Windows, one for each kind of device.
  std::vector<void*> registrations_;
};

}  // namespace csi_proxy::machine

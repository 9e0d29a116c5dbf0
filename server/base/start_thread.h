// Threads that may fail to start.
#pragma once

#include <functional>
#include <thread>

#include "absl/status/statusor.h"

namespace csi_proxy {

// Starts a thread that does `work`. RESOURCE_EXHAUSTED when the system has no more threads:
// std::thread throws then, which no caller expects.
absl::StatusOr<std::thread> StartThread(std::function<void()> work);

// The same, or a stand-in of a test.
using ThreadStarter = std::function<absl::StatusOr<std::thread>(std::function<void()> work)>;

}  // namespace csi_proxy

// Threads that may fail to start.
#pragma once

#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy {

// Starts a thread that does `work`. RESOURCE_EXHAUSTED when the system has no more threads:
// std::thread throws then, which no caller expects.
inline absl::StatusOr<std::thread> StartThread(std::function<void()> work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the system starts no more threads: ", error.what()));
  }
}

// The same, or a stand-in of a test.
using ThreadStarter = std::function<absl::StatusOr<std::thread>(std::function<void()> work)>;

}  // namespace csi_proxy

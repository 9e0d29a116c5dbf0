// Starts threads without exceptions.
#pragma once

#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy {

// Starts a thread that runs `work`. Returns RESOURCE_EXHAUSTED, instead of std::thread's exception,
// if the system starts no more threads.
inline absl::StatusOr<std::thread> StartThread(std::function<void()> work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the system starts no more threads: ", error.what()));
  }
}

// StartThread(), or a test's substitute.
using ThreadStarter = std::function<absl::StatusOr<std::thread>(std::function<void()> work)>;

}  // namespace csi_proxy

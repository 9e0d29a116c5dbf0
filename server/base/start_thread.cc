#include "server/base/start_thread.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace csi_proxy {

absl::StatusOr<std::thread> StartThread(std::function<void()> work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the system starts no more threads: ", error.what()));
  }
}

}  // namespace csi_proxy

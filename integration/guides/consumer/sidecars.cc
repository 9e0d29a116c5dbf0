// Starts a driver's sidecars without the driver; they must report UNAVAILABLE.
#include "csi_proxy/sidecars.h"

#include <chrono>
#include <future>
#include <iostream>

int main() {
  std::promise<absl::Status> failure;
  const auto sidecars = csi_proxy::Sidecars::Start(
      {.csi_address = "/nowhere/csi.sock",
       .connect_timeout = absl::Milliseconds(100),
       .livenessprobe = csi_proxy::LivenessProbeOptions{.http_endpoint = "127.0.0.1:0"},
       .on_failed = [&failure](const absl::Status& why) { failure.set_value(why); }});
  if (!sidecars.ok()) {
    std::cerr << sidecars.status() << "\n";
    return 1;
  }
  std::future<absl::Status> told = failure.get_future();
  if (told.wait_for(std::chrono::seconds(30)) != std::future_status::ready) return 1;
  const absl::Status why = told.get();
  std::cout << why << "\n";
  return why.code() == absl::StatusCode::kUnavailable ? 0 : 1;
}

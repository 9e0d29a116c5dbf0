// The service over the Windows host, which acts on a simulated node through doubles of WMI and
// Win32: all of csi-proxy.exe that can run anywhere. Takes the flags of csi-proxy.
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "server/host/parts.h"
#include "server/machine/simulated/admin.h"
#include "server/machine/simulated/scenario.h"
#include "server/machine/simulated/win32/os_double.h"
#include "server/machine/simulated/wmi/session.h"
#include "server/options.h"
#include "server/server.h"
#include "server/supervisor.h"
#include "server/versioned_services.h"

namespace csi_proxy {
namespace {

absl::Status Serve(const Options& options, Supervisor& supervisor) {
  auto node =
      machine::simulated::LoadScenario(machine::simulated::DefaultScenarioText(), "default");
  if (!node.ok()) return node.status();
  const auto windows = host::NewHost(machine::simulated::wmi::NewSimulatedSession((*node)->core()),
                                     machine::simulated::NewSimulatedOs((*node)->core()));
  std::vector<ExtraService> extra;
  extra.push_back({.pipe_name = "csi-proxy-admin",
                   .full_name = machine::simulated::kAdminServiceName,
                   .service = machine::simulated::NewAdminService(node->get())});
  auto server = Server::Start(options, windows.get(), nullptr, std::move(extra));
  if (!server.ok()) return server.status();
  std::cerr << "csi-proxy serves " << (*server)->PipeNames().size()
            << " pipes for a Windows node of doubles" << std::endl;
  supervisor.ReportRunning();
  supervisor.AwaitStop();
  (*server)->Stop(options.stop_grace_period);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  const absl::StatusOr<Options> options = ParseOptions(argc, argv);
  if (!options.ok()) {
    std::cerr << options.status() << std::endl;
    return kExitUsage;
  }
  int exit_code = kExitOk;
  const absl::Status supervised = RunSupervised(
      false,
      [&](Supervisor& supervisor) {
        const absl::Status served = Serve(*options, supervisor);
        if (!served.ok()) std::cerr << served << std::endl;
        return served.ok() ? kExitOk : kExitFailed;
      },
      &exit_code);
  return supervised.ok() ? exit_code : kExitFailed;
}

}  // namespace
}  // namespace csi_proxy

int main(int argc, char** argv) { return csi_proxy::Main(argc, argv); }

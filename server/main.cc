// csi-proxy: starts the service, waits for the signal to stop, drains.
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/host/simulated/admin.h"
#include "server/host/simulated/node.h"
#include "server/host/simulated/scenario.h"
#include "server/observability/logging.h"
#include "server/options.h"
#include "server/registration.h"
#include "server/server.h"
#include "server/version.h"

namespace csi_proxy {
namespace {

enum ExitCode { kOk = 0, kFailed = 1, kUsage = 2 };

// Two descriptors per connection and thousands of connections: the usual soft limit of 1024 is
// there for select(), which nothing here uses.
void RaiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

absl::StatusOr<std::unique_ptr<host::simulated::Node>> LoadNode(const Options& options) {
  if (options.scenario_file.empty()) {
    return host::simulated::LoadScenario(host::simulated::DefaultScenarioText(),
                                         "default scenario");
  }
  std::ifstream file(options.scenario_file, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(absl::StrCat("--scenario: cannot read ", options.scenario_file));
  }
  std::ostringstream text;
  text << file.rdbuf();
  return host::simulated::LoadScenario(text.str(), options.scenario_file);
}

absl::Status Run(const Options& options) {
  if (options.host != HostKind::kSimulated) {
    return absl::UnimplementedError(
        "--host=windows needs Windows; --host=simulated serves a node in memory");
  }
  absl::StatusOr<std::unique_ptr<host::simulated::Node>> node = LoadNode(options);
  if (!node.ok()) return node.status();

  std::vector<ExtraService> extra;
  extra.push_back({.pipe_name = "admin",
                   .full_name = host::simulated::kAdminServiceName,
                   .service = host::simulated::NewAdminService(node->get())});

  // Blocked before any thread starts, so that only sigwait() below receives them.
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(options, node->get(), std::move(extra));
  if (!server.ok()) return server.status();
  spdlog::info("csi-proxy {} serves {} pipes in {} for the simulated node", kVersion,
               (*server)->PipeNames().size(), options.socket_dir);

  int received = 0;
  sigwait(&stop_signals, &received);
  spdlog::info("stopping on signal {}: calls under way have {} to finish", received,
               absl::FormatDuration(options.stop_grace_period));
  // A second signal does not wait.
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &stop_signals, nullptr);
  (*server)->Stop(options.stop_grace_period);
  spdlog::info("stopped");
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  absl::StatusOr<Options> options = ParseOptions(argc, argv);
  if (!options.ok()) {
    std::cerr << "csi-proxy: " << options.status().message() << "\nTry --help.\n";
    return kUsage;
  }
  if (options->show_help) {
    std::cout << OptionsHelp();
    return kOk;
  }
  if (options->show_version) {
    std::cout << "csi-proxy " << kVersion << "\n";
    return kOk;
  }
  if (absl::Status status = observability::InitLogging(options->log); !status.ok()) {
    std::cerr << "csi-proxy: " << status.message() << "\n";
    return kUsage;
  }
  RaiseDescriptorLimit();
  if (absl::Status status = Run(*options); !status.ok()) {
    spdlog::error("cannot start: {}", std::string(status.message()));
    return status.code() == absl::StatusCode::kInvalidArgument ? kUsage : kFailed;
  }
  return kOk;
}

}  // namespace
}  // namespace csi_proxy

int main(int argc, char** argv) { return csi_proxy::Main(argc, argv); }

// csi-proxy: starts the service, waits for a stop, and stops the service.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <utility>

#include "server/base/go_flags.h"
#include "server/base/status_macros.h"
#include "server/observability/library_log.h"
#include "server/observability/loggers.h"
#include "server/observability/logging.h"
#include "server/observability/product_version.h"
#include "server/options/options.h"
#include "server/platform/program.h"
#include "server/service/open_node.h"
#include "server/service/server.h"
#include "server/supervision/supervisor.h"

namespace csi_proxy {
namespace {

// The time that a stop may take beyond the grace period. Afterwards the process ends, even if calls
// are under way.
constexpr absl::Duration kStopMargin = absl::Seconds(5);

// Starts the service, serves until a stop, then stops it.
absl::Status Serve(const Options& options, Supervisor& supervisor) {
  ABSL_ASSIGN_OR_RETURN(OpenedNode opened, OpenNode(options));
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Server> server,
                        Server::Start(options, *opened.node, std::move(opened.services)));
  const auto log = spdlog::get(observability::kServiceLogger);
  observability::Log(*log, spdlog::level::info,
                     absl::StrCat("csi-proxy ", kVersion, " serves ", server->PipeNames().size(),
                                  " pipes for the ",
                                  options.host == HostKind::kSimulated ? "simulated" : "Windows",
                                  " node; ", ChangedFlagsText(FlagsInForce(options))));
  supervisor.ReportRunning();

  const std::string stopped_by = supervisor.AwaitStop();
  observability::Log(*log, spdlog::level::info,
                     absl::StrCat("stopping on ", stopped_by, ": calls under way have ",
                                  absl::FormatDuration(options.stop_grace_period), " to finish"));
  supervisor.ReportStopping(options.stop_grace_period + kStopMargin);
  server->Stop(options.stop_grace_period);
  observability::Log(*log, spdlog::level::info, "stopped");
  return absl::OkStatus();
}

// Runs the service from start to stop. Returns an ExitCode.
int Run(const absl::StatusOr<Options>& options, Supervisor& supervisor) {
  const spdlog::sink_ptr event_log =
      supervisor.IsServiceManager() ? observability::NewEventLogSink() : nullptr;
  absl::Status status = options.status();
  if (status.ok()) status = observability::InitLogging(options->log, event_log);
  // Reports bad flags or a bad log file where an operator looks for a service's failures.
  if (!status.ok()) (void)observability::InitLogging({}, event_log);
  // Clients can cause protobuf's messages, so the log has them at full verbosity only. A message
  // with which protobuf ends the process is always logged and flushed.
  observability::RouteLibraryLogs([](Severity severity, const LogText& line) {
    const auto calls = spdlog::get(observability::kCallLogger);
    const bool fatal = severity == Severity::kError;
    observability::Log(*calls, fatal ? spdlog::level::err : spdlog::level::trace, line);
    if (fatal) calls->flush();
  });
  const auto log = spdlog::get(observability::kServiceLogger);
  if (options.ok() && !options->ignored_words.empty()) {
    observability::Log(*log, spdlog::level::warn, IgnoredWords(options->ignored_words));
  }
  if (status.ok()) status = Serve(*options, supervisor);
  if (status.ok()) return kExitOk;
  observability::Log(*log, spdlog::level::err, absl::StrCat("cannot start: ", status.message()));
  return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailed;
}

int Refuse(const absl::Status& status) {
  std::cerr << "csi-proxy: " << status.message() << "\nTry --help.\n";
  return kExitUsage;
}

int Main(int argc, char** argv) {
  const absl::StatusOr<Options> options = ParseOptions({argv + std::min(argc, 1), argv + argc});
  if (options.ok() && options->show_help) {
    std::cout << OptionsHelp();
    return kExitOk;
  }
  if (options.ok() && options->show_version) {
    std::cout << "csi-proxy " << kVersion << "\n";
    return kExitOk;
  }
  if (options.ok() && options->list_scenarios) {
    const absl::StatusOr<std::string> list = ListScenarios();
    if (!list.ok()) return Refuse(list.status());
    std::cout << *list;
    return kExitOk;
  }
  int exit_code = kExitOk;
  // Run() reports bad flags to the log of a service. Any other process prints them (Refuse()).
  const bool must_be_service = !options.ok() || options->windows_service;
  const absl::Status supervised = RunSupervised(
      must_be_service, [&](Supervisor& supervisor) { return Run(options, supervisor); },
      &exit_code);
  if (supervised.ok()) return exit_code;
  if (!options.ok()) return Refuse(options.status());
  std::cerr << "csi-proxy: " << supervised.message() << "\n";
  return kExitUsage;
}

}  // namespace
}  // namespace csi_proxy

// CSI_PROXY_MAIN() guards the process before it calls Main().
CSI_PROXY_MAIN(csi_proxy::Main)

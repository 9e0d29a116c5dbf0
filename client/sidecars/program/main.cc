// csi-node-sidecars: node-driver-registrar and livenessprobe in one process, beside a CSI driver.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/sidecars/program/flags.h"
#include "client/sidecars/program/options.h"
#include "csi_proxy/sidecars.h"
#include "server/observability/library_log.h"
#include "server/observability/product_version.h"
#include "server/platform/program.h"
#include "server/supervision/supervisor.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace csi_proxy::sidecars {
namespace {

// How long a stop may take beyond the calls under way.
constexpr absl::Duration kStopMargin = absl::Seconds(5);

// Returns the exit code of --mode=kubelet-registration-probe.
int ProbeRegistration(const std::string& marker_file, const LogFunction& log) {
  const Marker marker = LookForMarker(marker_file);
  if (marker == Marker::kMissing) {
    log(Severity::kError,
        absl::StrCat("the kubelet has not registered the driver: there is no ", marker_file));
    return kExitFailed;
  }
  log(Severity::kInfo,
      marker == Marker::kThere
          ? "the kubelet has registered the driver"
          : absl::StrCat("whether the kubelet has registered the driver is not known, because ",
                         marker_file,
                         " has no place in this container, or one behind a link; taken for yes"));
  return kExitOk;
}

// Serves until the process must stop or cannot continue.
int Serve(SidecarsOptions options, Supervisor& supervisor) {
  const LogFunction log = options.log;
  std::atomic<bool> failed = false;
  // The kubelet's refusal does not end a process with livenessprobe: without /healthz the kubelet
  // would restart a healthy driver. The kubelet tries again while the registration socket exists.
  options.independent = options.registrar && options.livenessprobe;
  if (!options.livenessprobe) {
    options.on_refused = [&](const std::string&) {
      failed = true;
      supervisor.RequestStop("the kubelet's refusal");
    };
  }
  options.on_failed = [&](const absl::Status&) {
    failed = true;
    supervisor.RequestStop("failure");
  };
  log(Severity::kInfo, absl::StrCat(kBothName, " ", kVersion, " runs",
                                    options.registrar ? " node-driver-registrar" : "",
                                    options.livenessprobe ? " livenessprobe" : ""));
  const absl::Duration longest =
      std::max(options.registrar ? options.registrar->timeout : absl::ZeroDuration(),
               options.livenessprobe ? options.livenessprobe->probe_timeout : absl::ZeroDuration());
  absl::StatusOr<std::unique_ptr<Sidecars>> sidecars = Sidecars::Start(std::move(options));
  if (!sidecars.ok()) {
    log(Severity::kError, sidecars.status().message());
    return kExitFailed;
  }
  supervisor.ReportRunning();
  log(Severity::kInfo, absl::StrCat("stopping on ", supervisor.AwaitStop()));
  supervisor.ReportStopping(longest + kStopMargin);
  sidecars->reset();
  return failed ? kExitFailed : kExitOk;
}

int Run(ProgramOptions options) {
  auto& registrar = options.sidecars.registrar;
  auto& probe = options.sidecars.livenessprobe;
  // Each component logs under its own name, and the process under the program's.
  const auto log_of = [&](absl::string_view name) { return NewLog(options.log, name); };
  const LogFunction log = options.sidecars.log = log_of(options.name);
  if (registrar) registrar->log = log_of(ComponentName(Component::kRegistrar));
  if (probe) probe->log = log_of(ComponentName(Component::kLivenessProbe));
  observability::RouteLibraryLogs(log);
  observability::RouteGrpcLogs();
  for (const std::string& warning : options.warnings) log(Severity::kWarning, warning);
  if (options.probe_registration) return ProbeRegistration(registrar->marker_file, log);
  if (registrar && LookForMarker(registrar->marker_file) == Marker::kNoPlace) {
    registrar->marker_file.clear();
  }
  int exit_code = kExitFailed;
  const absl::Status supervised = RunSupervised(
      /*must_be_service=*/false,
      [&](Supervisor& supervisor) { return Serve(std::move(options.sidecars), supervisor); },
      &exit_code);
  if (!supervised.ok()) log(Severity::kError, supervised.message());
  return exit_code;
}

int Main(int argc, char** argv) {
#ifdef __GLIBC__
  // One heap for all threads: the heaps of waiting threads would be most of the process's memory.
  mallopt(M_ARENA_MAX, 1);
#endif
  absl::StatusOr<ProgramOptions> options = ParseProgramOptions(argc, argv);
  if (absl::IsInvalidArgument(options.status())) {
    std::cerr << options.status().message() << "\n" << FlagsHelp();
    return kExitUsage;
  }
  if (!options.ok()) {
    NewLog({}, kBothName)(Severity::kError, options.status().message());
    return kExitFailed;
  }
  if (options->show_help) {
    std::cerr << FlagsHelp();
    return kExitOk;
  }
  if (options->show_version) {
    std::cout << argv[0] << " " << kVersion << "\n";
    return kExitOk;
  }
  return Run(*std::move(options));
}

}  // namespace
}  // namespace csi_proxy::sidecars

// Guards the process before anything else runs.
CSI_PROXY_MAIN(csi_proxy::sidecars::Main)

// The options of csi-node-sidecars, from its command line.
#pragma once

#include <spdlog/sinks/sink.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/log_function.h"
#include "csi_proxy/sidecars.h"
#include "server/observability/logging.h"

namespace csi_proxy::sidecars {

struct ProgramOptions {
  bool show_help = false;
  bool show_version = false;

  // If true, the program only checks, by the registrar's marker file, whether the kubelet has
  // registered the driver.
  bool probe_registration = false;
  // All options are set, except for `independent`, the callbacks and the logs.
  SidecarsOptions sidecars;
  // Only the format and the headers have an effect.
  observability::LogOptions log;
  // The only component that runs, or the name of the program that contains both.
  std::string name;
  // Flags that are accepted but do not have their usual effect.
  std::vector<std::string> warnings;
};

// Parses a command line. INVALID_ARGUMENT if Go's flag package would refuse it, FAILED_PRECONDITION
// if its values contradict each other or cannot work. Both name the flag and the reason.
absl::StatusOr<ProgramOptions> ParseProgramOptions(int argc, const char* const* argv);

// The marker file. With it --mode=kubelet-registration-probe, an exec probe of the registrar's
// container, checks whether the kubelet has registered the driver.

// Returns the marker's path: `registration` beside the driver's socket, as in node-driver-registrar
// 2.3 to 2.8.
std::string MarkerFile(absl::string_view kubelet_registration_path);

enum class Marker {
  kThere,
  kMissing,
  // The marker's directory does not exist, is not writable, or is reached through a link. The
  // kubelet's path is a path on the node and need not exist in a container.
  kNoPlace,
};
Marker LookForMarker(const std::string& marker_file);

// Returns a log that writes lines in klog's format, or in that of the service's --log-format=json,
// to `sink`, or to standard error if `sink` is null. Each line names the component. Thread-safe.
// The service's InitLogging() would use more memory than the rest of this program, and every node
// runs this program once per driver.
LogFunction NewLog(const observability::LogOptions& options, absl::string_view component,
                   spdlog::sink_ptr sink = nullptr);

}  // namespace csi_proxy::sidecars

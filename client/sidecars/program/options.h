// The options of csi-node-sidecars, from its command line.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/sidecars/program/log.h"
#include "csi_proxy/sidecars.h"

namespace csi_proxy::sidecars {

struct ProgramOptions {
  bool show_help = false;
  bool show_version = false;

  // Only check, by the registrar's marker file, whether the kubelet has registered the driver.
  bool probe_registration = false;
  // Complete, except for the callbacks.
  SidecarsOptions sidecars;
  LogFormat log_format = LogFormat::kText;
  // The only component that runs, or the name of the program that contains both.
  std::string name;
  // Flags that are accepted but do not have their usual effect.
  std::vector<std::string> warnings;
};

// Parses a command line. INVALID_ARGUMENT if Go's flag package would refuse it, FAILED_PRECONDITION
// if the upstream programs would. Both name the flag and the reason.
absl::StatusOr<ProgramOptions> ParseProgramOptions(int argc, const char* const* argv);

}  // namespace csi_proxy::sidecars

// The work of csi-node-sidecars, by its command line.
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

  // Only to look whether the kubelet has registered the driver, by the registrar's marker file.
  bool probe_registration = false;
  // Complete but for the callbacks.
  SidecarsOptions sidecars;
  LogFormat log_format = LogFormat::kText;
  // The component that runs, or the program that has both.
  std::string name;
  // Flags that are accepted, without the effect that they may be given for.
  std::vector<std::string> warnings;
};

// INVALID_ARGUMENT if Go's flag package would not take the command line, FAILED_PRECONDITION if
// the released programs would refuse what it says. Both name the flag and the reason.
absl::StatusOr<ProgramOptions> ParseProgramOptions(int argc, const char* const* argv);

}  // namespace csi_proxy::sidecars

// csi-proxyctl: calls any rpc of any released version from a command line.
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ctl/command_line.h"
#include "client/ctl/commands.h"
#include "client/ctl/terminal.h"
#include "server/observability/library_log.h"
#include "server/platform/program.h"

namespace {

int Main(int argc, char** argv) {
  namespace ctl = csi_proxy::ctl;
  using csi_proxy::Severity;
  const auto line = ctl::ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc));
  const bool verbose = line.ok() && line->verbose;
  // gRPC also logs events that are not faults, such as the timer of a call that timed out.
  csi_proxy::observability::RouteLibraryLogs(
      [verbose](Severity severity, absl::string_view message) {
        if (verbose || severity == Severity::kError) std::cerr << absl::StrCat(message, "\n");
      });
  csi_proxy::observability::RouteGrpcLogs();
  if (!line.ok()) {
    std::cerr << "error: " << line.status().message() << "\nhint: `csi-proxyctl --help`\n";
    return ctl::kUsage;
  }
  ctl::Input input(std::cin);
  return ctl::Run(*line, {input, std::cout, std::cerr, ctl::StandardOutputIsTerminal(),
                          ctl::StandardInputIsTerminal()});
}

}  // namespace

CSI_PROXY_MAIN(Main)

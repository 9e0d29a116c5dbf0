// `top` shows the load of the service.
#pragma once

#include <iosfwd>
#include <string>

#include "absl/time/time.h"
#include "client/ctl/commands.h"
#include "client/ctl/top/numbers.h"
#include "client/ctl/top/top.pb.h"
#include "client/ctl/watch.h"

namespace csi_proxy::ctl::top {

// How the report is printed.
struct Style {
  // kJsonOutput or kYamlOutput; empty: as tables.
  std::string document = {};
  // Clear the screen before each report.
  bool clears = false;
};

// Prints reports until `once` is done or `sleep` returns false. Returns an ExitCode. If `interval`
// is zero, counts from the start of the service. `environment.ask` returns the metrics.
int Watch(const watch::Environment& environment, const Options& options, absl::Duration interval,
          const Style& style, std::ostream& out, std::ostream& err);

}  // namespace csi_proxy::ctl::top

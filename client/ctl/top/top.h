// `top` shows the load of the service.
#pragma once

#include <iosfwd>

#include "absl/time/time.h"
#include "client/ctl/commands.h"
#include "client/ctl/top/numbers.h"
#include "client/ctl/top/top.pb.h"
#include "client/ctl/watch.h"

namespace csi_proxy::ctl::top {

// How the report is printed: as tables, unless `json` or `yaml` is true.
struct Style {
  bool json = false;
  bool yaml = false;
  // Clear the screen before each report.
  bool clears = false;
};

// Prints reports until `once` is done or `sleep` returns false. Returns an ExitCode. If `interval`
// is zero, counts from the start of the service. `environment.ask` returns the metrics.
int Watch(const watch::Environment& environment, const Options& options, absl::Duration interval,
          const Style& style, std::ostream& out, std::ostream& err);

}  // namespace csi_proxy::ctl::top

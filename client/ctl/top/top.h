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
  // If true, the screen is cleared before each report.
  bool clears = false;
};

// Prints reports until `sleep` returns false, or only one if `options.once` is true. Returns an
// ExitCode. If the metrics cannot be read, prints the error, and returns unless earlier metrics
// were read and `options.once` is false. If `interval` is zero, counts from the start of the
// service. `environment.ask` returns the metrics.
int Watch(const watch::Environment& environment, const Options& options, absl::Duration interval,
          const Style& style, std::ostream& out, std::ostream& err);

}  // namespace csi_proxy::ctl::top

// `top` shows the service's load.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/ctl/commands.h"
#include "client/ctl/top/numbers.h"
#include "client/ctl/top/top.pb.h"
#include "client/ctl/watch.h"

namespace csi_proxy::ctl::top {

// The look of the report.
struct Style {
  // Neither: tables.
  bool json = false;
  bool yaml = false;
  // Clear the screen before each.
  bool clears = false;
};

// Reports what was counted in `duration`, which is zero when not known.
Report MakeReport(const Numbers& counted, absl::Time now, absl::Duration duration);

// Tables; of rpcs and clients at most `rows` each.
std::string ToText(const Report& report, int rows);

// `environment` asks for the metrics. Reports until `once` is done or `sleep` says so, and returns
// an ExitCode. An `interval` of zero counts from the service's beginning.
int Watch(const watch::Environment& environment, const Options& options, absl::Duration interval,
          const Style& style, std::ostream& out, std::ostream& err);

}  // namespace csi_proxy::ctl::top

namespace csi_proxy::ctl {

// Reads the flags and watches.
int Top(const Catalog& catalog, const CommandLine& line, const Streams& streams);

// The flags of `top`, as FieldFlags() has those of methods.
std::vector<std::string> TopFlags();

}  // namespace csi_proxy::ctl

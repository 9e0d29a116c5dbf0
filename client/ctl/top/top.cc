#include "client/ctl/top/top.h"

#include <limits>
#include <optional>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "client/ctl/terminal.h"
#include "client/ctl/top/numbers.h"
#include "server/base/status_macros.h"

namespace csi_proxy::ctl {
namespace top {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(2);
// Makes the tables fit a terminal.
constexpr int kRowsOnTerminal = 15;

absl::StatusOr<Numbers> Look(const watch::Environment& environment) {
  ABSL_ASSIGN_OR_RETURN(const std::string text, environment.ask());
  return ReadNumbers(text);
}

absl::Status Show(const Report& report, const Style& style, std::ostream& out) {
  if (style.json || style.yaml) {
    ABSL_ASSIGN_OR_RETURN(const std::string text,
                          ToDocument(style.yaml ? kYamlOutput : kJsonOutput, report));
    out << text << std::flush;
    return absl::OkStatus();
  }
  const int rows = style.clears ? kRowsOnTerminal : std::numeric_limits<int>::max() - 1;
  // Written at once, so that the screen does not flicker.
  out << absl::StrCat(style.clears ? kClearScreen : "", ToText(report, rows)) << std::flush;
  return absl::OkStatus();
}

}  // namespace

int Watch(const watch::Environment& environment, const Options& options, absl::Duration interval,
          const Style& style, std::ostream& out, std::ostream& err) {
  std::optional<Numbers> before;
  SteadyTime since;
  while (true) {
    const absl::StatusOr<Numbers> now = Look(environment);
    const absl::Time time = environment.now();
    const SteadyTime counted_at = environment.steady_now();
    const bool wants_two = interval > absl::ZeroDuration();
    if (!now.ok()) {
      // After a first success, the failure may only mean that the service restarts.
      const int code = ComplainBriefly(now.status(), err);
      if (!before.has_value() || options.once()) return code;
    } else if (!wants_two || before.has_value()) {
      absl::Duration counted = wants_two ? counted_at - since : absl::ZeroDuration();
      if (now->started != absl::InfinitePast() && (!wants_two || before->started != now->started)) {
        counted = std::max(absl::ZeroDuration(), time - now->started);
      }
      Report report = MakeReport(wants_two ? Since(*before, *now) : *now, time, counted);
      report.set_metrics(options.metrics());
      if (absl::Status s = Show(report, style, out); !s.ok()) return ComplainBriefly(s, err);
      if (options.once()) return kOk;
    }
    if (now.ok()) {
      before = *now;
      since = counted_at;
    }
    if (!environment.sleep(interval)) return kOk;
  }
}

}  // namespace top

int Top(const Catalog& catalog, const CommandLine& line, const Streams& streams) {
  const auto wrong = [&](absl::string_view message) { return WrongUsage(message, streams.err); };
  top::Options options;
  if (absl::Status s = ReadFlags(catalog, line, &options); !s.ok()) return wrong(s.message());
  if (options.metrics().empty()) {
    return wrong(
        "top needs --metrics=HOST:PORT, the address of the service's metrics: its "
        "--metrics-bind-address");
  }
  const absl::StatusOr<HostPort> address = top::ParseMetricsAddress("--metrics", options.metrics());
  if (!address.ok()) return wrong(address.status().message());
  const bool table = WantsTable(line, streams);
  if (!table) options.set_once(true);
  absl::Duration interval = options.once() ? absl::ZeroDuration() : top::kInterval;
  if (!options.interval().empty() &&
      (!absl::ParseDuration(options.interval(), &interval) || interval < absl::Milliseconds(100) ||
       interval > absl::Hours(24))) {
    return wrong("--interval: is not a time from 100ms to 24h, such as 2s");
  }
  const watch::Environment environment =
      watch::InRealTime([&] { return top::FetchMetrics(*address, line.call.timeout); });
  const bool clears =
      table && !options.once() && streams.out_is_terminal && EnableControlSequences();
  return top::Watch(environment, options, interval,
                    {.json = !table, .yaml = line.output == kYamlOutput, .clears = clears},
                    streams.out, streams.err);
}

}  // namespace csi_proxy::ctl

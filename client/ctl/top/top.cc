#include "client/ctl/top/top.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/output.h"
#include "client/ctl/terminal.h"
#include "client/ctl/top/numbers.h"
#include "server/base/status_macros.h"

namespace csi_proxy::ctl {
namespace top {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(2);
// The maximum number of rows of a table on a terminal, including the head.
constexpr size_t kRowsOnTerminal = 16;

double PerSecond(double count, absl::Duration duration) {
  return duration > absl::ZeroDuration() ? count / absl::ToDoubleSeconds(duration) : 0;
}

double Find(const std::map<std::string, double>& numbers, const std::string& key) {
  const auto found = numbers.find(key);
  return found == numbers.end() ? 0 : found->second;
}

std::string TimeText(double ms) {
  return ms < 1000 ? absl::StrFormat("%.1f ms", ms) : absl::StrFormat("%.1f s", ms / 1000);
}

std::string Rate(const Report& report, double per_second) {
  return report.seconds() > 0 ? absl::StrFormat("%.1f", per_second) : "-";
}

// Returns a table of at most `limit` rows, including the head, and the number of rows left out.
// Returns "" for an empty list.
template <typename List, typename RowOf>
std::string Table(Row head, const List& list, size_t limit, RowOf row_of) {
  if (list.empty()) return "";
  std::vector<Row> rows = RowsOf(std::move(head), list, row_of);
  const size_t shown = std::min(rows.size(), limit), left = rows.size() - shown;
  rows.resize(shown);
  return absl::StrCat("\n", Align(rows), left > 0 ? absl::StrCat("... and ", left, " more\n") : "");
}

// Returns the report on the calls in `counted`, which were counted within `duration`. A `duration`
// of zero means that this time is unknown.
Report MakeReport(const Numbers& counted, absl::Time now, absl::Duration duration) {
  Report report;
  report.set_time(UtcText(now));
  if (counted.started != absl::InfinitePast()) {
    report.set_service_started(UtcText(counted.started));
  }
  report.set_seconds(absl::ToDoubleSeconds(duration));
  report.set_flags(ChangedFlagsText(counted.flags));
  report.set_live_connections(Find(counted.connections, "live"));
  report.set_silent_connections(Find(counted.connections, "silent"));
  for (const auto& [name, rpc] : counted.rpcs) {
    if (!(rpc.finished > 0)) continue;
    Rpc* const row = report.add_rpcs();
    row->set_rpc(name);
    row->set_calls(rpc.finished);
    row->set_calls_per_second(PerSecond(rpc.finished, duration));
    row->set_failed(rpc.failed);
    row->set_refused(rpc.refused);
    const std::map<double, double> within = rpc.RanWithin();
    row->set_p50_ms(Quantile(within, 0.5) * 1000);
    row->set_p99_ms(Quantile(within, 0.99) * 1000);
  }
  for (const auto& [caller, calls] : counted.callers) {
    if (!(calls > 0)) continue;
    const auto& [image, group, version] = caller;
    Client* const row = report.add_clients();
    row->set_client(image);
    row->set_group(group);
    row->set_version(version);
    row->set_calls(calls);
    row->set_calls_per_second(PerSecond(calls, duration));
  }
  const auto most_first = [](const auto& a, const auto& b) { return a.calls() > b.calls(); };
  absl::c_stable_sort(*report.mutable_rpcs(), most_first);
  absl::c_stable_sort(*report.mutable_clients(), most_first);
  std::map<std::string, double> groups = counted.in_flight;
  groups.insert(counted.queued.begin(), counted.queued.end());
  for (const auto& [group, either] : groups) {
    Group* const row = report.add_groups();
    row->set_group(group);
    row->set_queued(Find(counted.queued, group));
    // Clamps at 0, because the two numbers are not read at the same moment.
    row->set_running(std::max(0.0, Find(counted.in_flight, group) - row->queued()));
  }
  for (const auto& [rpc, seconds] : counted.long_calls) {
    LongCall* const row = report.add_long_calls();
    row->set_rpc(rpc);
    row->set_seconds(seconds);
  }
  for (const auto& [client_and_limit, times] : counted.limited) {
    if (!(times > 0)) continue;
    Limit* const row = report.add_limits();
    row->set_client(client_and_limit.first);
    row->set_limit(client_and_limit.second);
    row->set_times(times);
  }
  return report;
}

// Returns the report as tables of at most `rows` rows, including the head.
std::string ToText(const Report& report, size_t rows) {
  // Shows up to 15 digits, whereas absl::StrCat() shows six.
  const auto number = [](double value) { return absl::StrFormat("%.15g", value); };
  const std::string counted = report.seconds() > 0
                                  ? absl::StrFormat("the last %.1f s", report.seconds())
                                  : "since the service began";
  std::string text =
      absl::StrCat("csi-proxy at ", Printable(report.metrics()), ", ", report.time(), ", ", counted,
                   "\nconnections: ", number(report.live_connections()), " live, ",
                   number(report.silent_connections()), " silent\n", Printable(report.flags()),
                   report.flags().empty() ? "" : "\n");
  text += Table({"GROUP", "RUNNING", "QUEUED"}, report.groups(), rows, [&](const Group& group) {
    return Row{group.group(), number(group.running()), number(group.queued())};
  });
  text += Table({"RPC", "CALLS", "PER SECOND", "FAILED", "REFUSED", "P50", "P99"}, report.rpcs(),
                rows, [&](const Rpc& rpc) {
                  return Row{rpc.rpc(),
                             number(rpc.calls()),
                             Rate(report, rpc.calls_per_second()),
                             number(rpc.failed()),
                             number(rpc.refused()),
                             TimeText(rpc.p50_ms()),
                             TimeText(rpc.p99_ms())};
                });
  if (report.rpcs().empty()) text += "\nno calls have ended\n";
  text += Table({"CLIENT", "GROUP", "VERSION", "CALLS", "PER SECOND"}, report.clients(), rows,
                [&](const Client& c) {
                  return Row{c.client(), c.group(), c.version(), number(c.calls()),
                             Rate(report, c.calls_per_second())};
                });
  text += Table({"LONG CALL", "RUNNING FOR"}, report.long_calls(), rows, [](const LongCall& call) {
    return Row{call.rpc(), absl::StrFormat("%.0f s", call.seconds())};
  });
  return text +
         Table({"CLIENT", "LIMIT", "TIMES MET"}, report.limits(), rows, [&](const Limit& limit) {
           return Row{limit.client(), limit.limit(), number(limit.times())};
         });
}

absl::Status Show(const Report& report, const Style& style, std::ostream& out) {
  if (!style.document.empty()) {
    ABSL_ASSIGN_OR_RETURN(const std::string text, ToDocument(style.document, report));
    out << text << std::flush;
    return absl::OkStatus();
  }
  const size_t rows = style.clears ? kRowsOnTerminal : std::numeric_limits<size_t>::max();
  // Writes in one call, so that the screen does not flicker.
  out << absl::StrCat(style.clears ? kClearScreen : "", ToText(report, rows)) << std::flush;
  return absl::OkStatus();
}

}  // namespace

int Watch(const watch::Environment& environment, const Options& options, absl::Duration interval,
          const Style& style, std::ostream& out, std::ostream& err) {
  std::optional<Numbers> before;
  SteadyTime since;
  while (true) {
    const absl::StatusOr<std::string> text = environment.ask();
    const auto now = text.ok() ? ReadNumbers(*text) : text.status();
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

absl::StatusOr<int> Top(const Catalog& catalog, const CommandLine& line, const Streams& streams) {
  top::Options options;
  ABSL_RETURN_IF_ERROR(ReadFlags(catalog, line, streams, &options));
  if (options.metrics().empty()) {
    return Invalid(
        "top needs --metrics=HOST:PORT, the address of the service's metrics: its "
        "--metrics-bind-address");
  }
  ABSL_ASSIGN_OR_RETURN(const auto fetch,
                        top::MetricsFetcher(options.metrics(), line.call.timeout));
  const bool table = WantsTable(line, streams);
  if (!table) options.set_once(true);
  absl::Duration interval = options.once() ? absl::ZeroDuration() : top::kInterval;
  if (!options.interval().empty() &&
      (!absl::ParseDuration(options.interval(), &interval) || interval < absl::Milliseconds(100) ||
       interval > absl::Hours(24))) {
    return Invalid("--interval: is not a time from 100ms to 24h, such as 2s");
  }
  const watch::Environment environment = watch::InRealTime(fetch);
  const bool clears =
      table && !options.once() && streams.out_is_terminal && EnableControlSequences();
  const char* const document = line.output == kYamlOutput ? kYamlOutput : kJsonOutput;
  return top::Watch(environment, options, interval,
                    {.document = table ? "" : document, .clears = clears}, streams.out,
                    streams.err);
}

}  // namespace csi_proxy::ctl

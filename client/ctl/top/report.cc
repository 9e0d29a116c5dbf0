#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/output.h"
#include "client/ctl/top/top.h"

namespace csi_proxy::ctl::top {
namespace {

using Row = std::vector<std::string>;

double PerSecond(double count, absl::Duration duration) {
  return duration > absl::ZeroDuration() ? count / absl::ToDoubleSeconds(duration) : 0;
}

double Find(const std::map<std::string, double>& numbers, const std::string& key) {
  const auto found = numbers.find(key);
  return found == numbers.end() ? 0 : found->second;
}

template <typename List>
void SortByCalls(List* list) {
  std::stable_sort(list->begin(), list->end(),
                   [](const auto& a, const auto& b) { return a.calls() > b.calls(); });
}

std::string Milliseconds(double ms) {
  return ms < 1000 ? absl::StrFormat("%.1f ms", ms) : absl::StrFormat("%.1f s", ms / 1000);
}

std::string Rate(const Report& report, double per_second) {
  return report.seconds() > 0 ? absl::StrFormat("%.1f", per_second) : "-";
}

// Returns a table of at most `limit` rows and the number of further ones; "" if there are no rows.
std::string Table(std::vector<Row> rows, int limit) {
  if (rows.size() <= 1) return "";
  const size_t kept = std::min(rows.size(), static_cast<size_t>(limit) + 1);
  const size_t left = rows.size() - kept;
  rows.resize(kept);
  return absl::StrCat("\n", Align(rows), left > 0 ? absl::StrCat("... and ", left, " more\n") : "");
}

}  // namespace

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
    Client* const row = report.add_clients();
    row->set_client(std::get<0>(caller));
    row->set_group(std::get<1>(caller));
    row->set_version(std::get<2>(caller));
    row->set_calls(calls);
    row->set_calls_per_second(PerSecond(calls, duration));
  }
  SortByCalls(report.mutable_rpcs());
  SortByCalls(report.mutable_clients());
  std::set<std::string> groups;
  for (const auto& [group, number] : counted.in_flight) groups.insert(group);
  for (const auto& [group, number] : counted.queued) groups.insert(group);
  for (const std::string& group : groups) {
    Group* const row = report.add_groups();
    row->set_group(group);
    row->set_queued(Find(counted.queued, group));
    // Clamped, because the two numbers are not read at the same moment.
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

std::string ToText(const Report& report, int rows) {
  std::string text =
      absl::StrCat("csi-proxy at ", Printable(report.metrics()), ", ", report.time());
  if (report.seconds() > 0) {
    absl::StrAppendFormat(&text, ", the last %.1f s", report.seconds());
  } else {
    absl::StrAppend(&text, ", since the service began");
  }
  absl::StrAppend(&text, "\nconnections: ", report.live_connections(), " live, ",
                  report.silent_connections(), " silent\n", Printable(report.flags()),
                  report.flags().empty() ? "" : "\n");
  std::vector<Row> table = {{"GROUP", "RUNNING", "QUEUED"}};
  for (const Group& group : report.groups()) {
    table.push_back(
        {Printable(group.group()), absl::StrCat(group.running()), absl::StrCat(group.queued())});
  }
  text += Table(table, rows);
  table = {{"RPC", "CALLS", "PER SECOND", "FAILED", "REFUSED", "P50", "P99"}};
  for (const Rpc& rpc : report.rpcs()) {
    table.push_back({Printable(rpc.rpc()), absl::StrCat(rpc.calls()),
                     Rate(report, rpc.calls_per_second()), absl::StrCat(rpc.failed()),
                     absl::StrCat(rpc.refused()), Milliseconds(rpc.p50_ms()),
                     Milliseconds(rpc.p99_ms())});
  }
  text += table.size() > 1 ? Table(table, rows) : "\nno calls have ended\n";
  table = {{"CLIENT", "GROUP", "VERSION", "CALLS", "PER SECOND"}};
  for (const Client& client : report.clients()) {
    table.push_back({Printable(client.client()), Printable(client.group()),
                     Printable(client.version()), absl::StrCat(client.calls()),
                     Rate(report, client.calls_per_second())});
  }
  text += Table(table, rows);
  table = {{"LONG CALL", "RUNNING FOR"}};
  for (const LongCall& call : report.long_calls()) {
    table.push_back({Printable(call.rpc()), absl::StrFormat("%.0f s", call.seconds())});
  }
  text += Table(table, rows);
  table = {{"CLIENT", "LIMIT", "TIMES MET"}};
  for (const Limit& limit : report.limits()) {
    table.push_back(
        {Printable(limit.client()), Printable(limit.limit()), absl::StrCat(limit.times())});
  }
  return text + Table(table, rows);
}

}  // namespace csi_proxy::ctl::top

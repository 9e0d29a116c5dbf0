#include "client/ctl/top/numbers.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/http/http_client.h"

namespace csi_proxy::ctl::top {
namespace {

constexpr double kMaxCount = 1e15;

// Returns the increase of a counter, which has restarted at 0 if `now` is less than `before`.
double Grown(double before, double now) { return now < before ? now : now - before; }

template <typename Key>
std::map<Key, double> Grown(const std::map<Key, double>& before, std::map<Key, double> now) {
  for (auto& [key, value] : now) {
    const auto found = before.find(key);
    if (found != before.end()) value = Grown(found->second, value);
  }
  return now;
}

// Adds a sample to the number that it belongs to. Ignores unknown samples.
void Add(const Sample& sample, Numbers* numbers) {
  const auto rpc = [&]() -> RpcNumbers& {
    return numbers
        ->rpcs[absl::StrCat(sample.Label("grpc_service"), "/", sample.Label("grpc_method"))];
  };
  if (sample.name == "grpc_server_handled_total") {
    rpc().finished += sample.value;
    if (sample.Label("grpc_code") != "OK") rpc().failed += sample.value;
    if (sample.Label("grpc_code") == "ResourceExhausted") rpc().refused += sample.value;
  } else if (sample.name == "grpc_server_handling_seconds_bucket") {
    double bound;
    if (absl::SimpleAtod(sample.Label("le"), &bound) && bound >= 0) {
      rpc().within[bound] += sample.value;
    }
  } else if (sample.name == "csi_proxy_api_calls_total") {
    // Adds up callers that differ only in other labels.
    numbers
        ->callers[{sample.Label("client_image"), sample.Label("group"), sample.Label("version")}] +=
        sample.value;
  } else if (sample.name == "csi_proxy_client_limited_total") {
    numbers->limited[{sample.Label("client_image"), sample.Label("limit")}] += sample.value;
  } else if (sample.name == "csi_proxy_flag") {
    numbers->flags.push_back({sample.Label("flag"), sample.value, sample.Label("default")});
  } else if (sample.name == "csi_proxy_fallbacks_total") {
    numbers->fallbacks[sample.Label("fallback")] += sample.value;
  } else if (sample.name == "csi_proxy_long_call_seconds") {
    numbers->long_calls[sample.Label("rpc")] = sample.value;
  } else if (sample.name == "csi_proxy_calls_in_flight") {
    numbers->in_flight[sample.Label("group")] += sample.value;
  } else if (sample.name == "csi_proxy_calls_queued") {
    numbers->queued[sample.Label("group")] += sample.value;
  } else if (sample.name == "csi_proxy_connections") {
    numbers->connections[sample.Label("state")] += sample.value;
  } else if (sample.name == "process_start_time_seconds") {
    numbers->started = absl::UnixEpoch() + absl::Seconds(sample.value);
  }
}

bool IsNameCharacter(char c, bool first) {
  return absl::ascii_isalpha(c) || c == '_' || c == ':' || (!first && absl::ascii_isdigit(c));
}

// Removes a name from the front and returns it; "" if there is none.
std::string TakeName(absl::string_view* rest) {
  size_t length = 0;
  while (length < rest->size() && IsNameCharacter((*rest)[length], length == 0)) ++length;
  std::string name(rest->substr(0, length));
  rest->remove_prefix(length);
  return name;
}

void TakeBlanks(absl::string_view* rest) {
  while (!rest->empty() && (rest->front() == ' ' || rest->front() == '\t')) rest->remove_prefix(1);
}

bool Take(absl::string_view* rest, absl::string_view token) {
  TakeBlanks(rest);
  return absl::ConsumePrefix(rest, token);
}

// Removes a quoted value's text and its closing quote from the front. Returns false on bad syntax.
bool TakeQuoted(absl::string_view* rest, std::string* value) {
  while (!rest->empty()) {
    const char c = rest->front();
    rest->remove_prefix(1);
    if (c == '"') return true;
    if (c != '\\') {
      value->push_back(c);
      continue;
    }
    if (rest->empty()) return false;
    const char escaped = rest->front();
    if (escaped != 'n' && escaped != '\\' && escaped != '"') return false;
    value->push_back(escaped == 'n' ? '\n' : escaped);
    rest->remove_prefix(1);
  }
  return false;
}

// Removes labels from the front: `{a="b",c="d",}`, the last comma optional; or none.
bool TakeLabels(absl::string_view* rest, Sample* sample) {
  if (!Take(rest, "{")) return true;
  while (!Take(rest, "}")) {
    TakeBlanks(rest);
    const std::string name = TakeName(rest);
    std::string value;
    if (name.empty() || !Take(rest, "=") || !Take(rest, "\"") || !TakeQuoted(rest, &value)) {
      return false;
    }
    if (!sample->labels.emplace(name, std::move(value)).second) return false;
    if (!Take(rest, ",")) return Take(rest, "}");
  }
  return true;
}

// Reads `12`, `1.5e-3`, `+Inf` or `NaN`, optionally followed by a timestamp.
bool ReadValue(absl::string_view rest, double* value) {
  const std::vector<absl::string_view> numbers =
      absl::StrSplit(rest, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  int64_t time;
  return (numbers.size() == 1 || (numbers.size() == 2 && absl::SimpleAtoi(numbers[1], &time))) &&
         absl::SimpleAtod(numbers[0], value);
}

// The maximum size of a reply: about twenty times the size of the metrics of all rpcs and 64
// clients.
constexpr size_t kMaxBytes = 16 << 20;

}  // namespace

absl::StatusOr<Numbers> ReadNumbers(absl::string_view exposition) {
  Numbers numbers;
  bool is_ours = false;
  const absl::Status status = ReadExposition(exposition, [&](const Sample& sample) {
    // Ignores values that cannot be counts, such as NaN, because they would spoil the sums.
    if (!(sample.value >= 0 && sample.value <= kMaxCount)) return;
    is_ours = is_ours || absl::StartsWith(sample.name, "csi_proxy_");
    Add(sample, &numbers);
  });
  if (!status.ok()) return status;
  if (!is_ours) {
    return absl::InvalidArgumentError("this address serves other metrics than csi-proxy's");
  }
  return numbers;
}

std::map<double, double> RpcNumbers::RanWithin() const {
  std::map<double, double> ran = within;
  for (auto& [bound, count] : ran) count = std::max(0.0, count - refused);
  return ran;
}

bool Numbers::AsksForIscsi() const {
  const auto staged = rpcs.find("v1alpha1.Storage/StageTarget");
  if (staged != rpcs.end() && staged->second.finished > 0) return true;
  return std::any_of(callers.begin(), callers.end(), [](const auto& caller) {
    const auto& [image, group, version] = caller.first;
    return group == "iscsi" && caller.second > 0 && !absl::StartsWith(image, "csi-proxyctl");
  });
}

Numbers Since(const Numbers& before, const Numbers& now) {
  if (before.started != now.started) return now;
  Numbers grown = now;
  grown.callers = Grown(before.callers, now.callers);
  grown.limited = Grown(before.limited, now.limited);
  grown.fallbacks = Grown(before.fallbacks, now.fallbacks);
  for (auto& [name, rpc] : grown.rpcs) {
    const auto found = before.rpcs.find(name);
    if (found == before.rpcs.end()) continue;
    rpc.finished = Grown(found->second.finished, rpc.finished);
    rpc.failed = Grown(found->second.failed, rpc.failed);
    rpc.refused = Grown(found->second.refused, rpc.refused);
    rpc.within = Grown(found->second.within, std::move(rpc.within));
  }
  return grown;
}

double Quantile(const std::map<double, double>& within, double part) {
  if (within.empty() || !(within.rbegin()->second > 0)) return 0;
  const double rank = part * within.rbegin()->second;
  double lower_bound = 0, lower_count = 0;
  for (const auto& [bound, count] : within) {
    // Counting may continue while the buckets are read, so a later bucket may have a lower count.
    if (count < rank || count <= lower_count) {
      lower_bound = bound;
      lower_count = std::max(count, lower_count);
      continue;
    }
    if (std::isinf(bound)) break;
    return lower_bound + (bound - lower_bound) * (rank - lower_count) / (count - lower_count);
  }
  return std::isinf(lower_bound) ? 0 : lower_bound;
}

std::string Sample::Label(absl::string_view label) const {
  const auto found = labels.find(label);
  return found == labels.end() ? "" : found->second;
}

absl::Status ReadExposition(absl::string_view text,
                            absl::FunctionRef<void(const Sample& sample)> visit) {
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    absl::ConsumeSuffix(&line, "\r");
    TakeBlanks(&line);
    if (line.empty() || line.front() == '#') continue;
    Sample sample;
    sample.name = TakeName(&line);
    if (sample.name.empty() || !TakeLabels(&line, &sample) || !ReadValue(line, &sample.value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " is not of Prometheus' text format"));
    }
    visit(sample);
  }
  return absl::OkStatus();
}

absl::StatusOr<HostPort> ParseMetricsAddress(absl::string_view text) {
  ABSL_ASSIGN_OR_RETURN(HostPort address, HostPort::Parse("--metrics", text));
  if (address.port == 0) return absl::InvalidArgumentError("--metrics: nothing serves at port 0");
  if (address.host.empty()) address.host = "127.0.0.1";
  return address;
}

absl::StatusOr<FetchMetrics> MetricsFetcher(absl::string_view text, absl::Duration timeout) {
  ABSL_ASSIGN_OR_RETURN(const HostPort address, ParseMetricsAddress(text));
  return [address, timeout]() -> absl::StatusOr<std::string> {
    ABSL_ASSIGN_OR_RETURN(const HttpReply reply, AskHttp({.address = address,
                                                          .target = "/metrics",
                                                          .subject = "metrics",
                                                          .timeout = timeout,
                                                          .max_bytes = kMaxBytes}));
    if (reply.code == 200) return reply.body.Reveal();
    return absl::FailedPreconditionError(absl::StrCat(
        ToString(address), " has no /metrics: it answers with the HTTP status ", reply.code));
  };
}

}  // namespace csi_proxy::ctl::top

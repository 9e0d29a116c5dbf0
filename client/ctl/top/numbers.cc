#include "client/ctl/top/numbers.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/ctl/top/exposition.h"

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
  } else if (sample.name == "csi_proxy_fallbacks_total") {
    numbers->fallbacks[sample.Label("fallback")] += sample.value;
  } else if (sample.name == "csi_proxy_long_call_seconds") {
    numbers->long_calls[{sample.Label("rpc"), sample.Label("object")}] = sample.value;
  } else if (sample.name == "csi_proxy_calls_in_flight") {
    numbers->in_flight[sample.Label("group")] += sample.value;
  } else if (sample.name == "csi_proxy_calls_queued") {
    numbers->queued[sample.Label("group")] += sample.value;
  } else if (sample.name == "csi_proxy_connections") {
    numbers->connections[sample.Label("state")] += sample.value;
  } else if (sample.name == "csi_proxy_start_time_seconds") {
    numbers->started = absl::UnixEpoch() + absl::Seconds(sample.value);
  }
}

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
  if (!is_ours) return absl::InvalidArgumentError("these are not the metrics of csi-proxy");
  return numbers;
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

}  // namespace csi_proxy::ctl::top

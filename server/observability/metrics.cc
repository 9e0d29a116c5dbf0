#include "server/observability/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"
#include "server/base/fallbacks.h"
#include "server/base/running_calls.h"
#include "server/base/status_macros.h"
#include "server/calls/request_fields.h"
#include "server/calls/tenant_part.h"
#include "server/http/http_server.h"
#include "server/names/released_names.h"
#include "server/observability/metric_family.h"
#include "server/observability/process_stats.h"
#include "server/observability/product_version.h"
#include "server/platform/peer_process.h"

namespace csi_proxy::observability {
namespace {

using prometheus::MetricType;

// The buckets of the Go service, in seconds.
const prometheus::Histogram::BucketBoundaries kBuckets = {0.001, 0.01, 0.1, 0.3, 0.6, 1,  3,
                                                          6,     9,    20,  30,  60,  90, 120};

// The limits on series by client image. A client chooses the name of its image, and must neither
// create series without limit nor use up the series of other tenants. So there are at most
// kMaxImages images, and kShare limits a tenant's part of them (tenant_part.h). An image beyond its
// tenant's part counts as "other". An image without calls for kIdle is removed.
constexpr size_t kMaxImages = 64;
constexpr size_t kShare = 75;
constexpr absl::Duration kIdle = absl::Hours(1);

// The time when the program was loaded, in seconds since 1970.
const double kStart = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
// The maximum number of handles: client_golang's constant for Windows.
constexpr double kMostDescriptors = 1 << 24;

class PrometheusMetrics final : public Metrics {
 public:
  PrometheusMetrics(const std::string& mode, std::function<SteadyTime()> clock)
      : clock_(std::move(clock)) {
    // Dashboards join this series with others by instance, to show the version.
    AddFamily(registry_, prometheus::BuildGauge(), "csi_proxy_build_info",
              "Always 1; the program's version and mode are labels: service or embedded.")
        .Add({{"mode", mode}, {"version", kVersion}})
        .Set(1);
  }

  absl::Status Listen(const HostPort& address) {
    ABSL_ASSIGN_OR_RETURN(server_,
                          HttpServer::Listen(address, {{"/metrics", [this] { return Text(); }}}));
    return absl::OkStatus();
  }
  int port() const override { return server_->port(); }

  void AddFlags(const std::vector<FlagInForce>& flags) override {
    auto& family = AddFamily(registry_, prometheus::BuildGauge(), "csi_proxy_flag",
                             "Flags in force: numbers, seconds, or 1 for a switch that is on.");
    for (const FlagInForce& flag : flags) {
      family.Add({{"flag", flag.name}, {"default", flag.by_default}}).Set(flag.value);
    }
  }

  void SetGauges(Gauges gauges) override {
    const MutexLock lock(gauges_mutex_);
    gauges_ = std::move(gauges);
  }

  void OnStart(const rpc::MethodInfo& method) override {
    Method& counters = For(method);
    counters.started->Increment();
    counters.received->Increment();
    counters.in_flight->Increment();
  }

  void OnDone(const rpc::MethodInfo& method, const CallContext& call, const absl::Status& status,
              absl::Duration duration) override {
    Method& counters = For(method);
    counters.in_flight->Decrement();
    counters.sent->Increment();
    counters.seconds->Observe(absl::ToDoubleSeconds(duration));
    Handled(counters, method, status.code()).Increment();
    const bool unknown_field = rpc::UnknownFieldOf(status).has_value();
    const MutexLock lock(mutex_);
    Image& image = ImageOf(call.peer());
    prometheus::Counter*& calls = image.calls[&method];
    if (calls == nullptr) {
      calls = &image.Series(api_calls_, {{"group", method.group}, {"version", method.version}});
    }
    calls->Increment();
    if (unknown_field) {
      image
          .Series(unknown_fields_,
                  {{"group", method.group}, {"version", method.version}, {"method", method.method}})
          .Increment();
    }
  }

  void OnLimit(const Peer& peer, rpc::Limit limit, uint64_t) override {
    const MutexLock lock(mutex_);
    ImageOf(peer)
        .Series(limited_, {{"limit", rpc::kLimitNames[static_cast<size_t>(limit)]}})
        .Increment();
  }

 private:
  // Returns the gauges and counters that are read at each scrape.
  std::vector<prometheus::MetricFamily> CollectGauges(SteadyTime now) const {
    const MutexLock lock(gauges_mutex_);
    std::vector<prometheus::MetricFamily> families;
    // The functions that `add` returns refer to elements of `families`, so these must not move.
    families.reserve(32);
    // Adds a family, and returns the function that adds a series to it.
    const auto add = [&families](const char* name, const char* help,
                                 MetricType type = MetricType::Gauge) {
      families.push_back({name, help, type, {}});
      return [&metrics = families.back().metric, type](
                 auto number, std::vector<prometheus::ClientMetric::Label> labels = {}) {
        prometheus::ClientMetric metric;
        metric.label = std::move(labels);
        (type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) =
            static_cast<double>(number);
        metrics.push_back(std::move(metric));
      };
    };
    const ProcessStats process = ReadProcessStats();
    add("process_cpu_seconds_total", "User and system CPU time.",
        MetricType::Counter)(process.cpu_seconds);
    add("process_resident_memory_bytes", "Resident memory.")(process.resident_bytes);
    add("process_virtual_memory_bytes",
        "Virtual memory; on Windows private bytes.")(process.virtual_bytes);
    add("process_open_fds", "Open descriptors; on Windows handles.")(process.open_descriptors);
    add("process_max_fds", "The most open descriptors or handles.")(kMostDescriptors);
    add("process_start_time_seconds", "Start, in seconds since 1970.")(kStart);
    const auto fallbacks =
        add("csi_proxy_fallbacks_total",
            "Times that a fallback was taken because Windows did not behave as expected.",
            MetricType::Counter);
    for (const FallbackFacts& facts : kFallbacks) {
      fallbacks(FallbackCount(facts.fallback), {{"fallback", facts.name}});
    }
    if (gauges_.connections) {
      const Connections now_open = gauges_.connections();
      const auto open = add("csi_proxy_connections", "Open connections.");
      open(now_open.silent, {{"state", "silent"}});
      open(now_open.live, {{"state", "live"}});
      const auto outcomes =
          add("csi_proxy_connections_total", "Connections, by outcome.", MetricType::Counter);
      for (const auto& [outcome, count] : now_open.outcomes) {
        outcomes(count, {{"outcome", outcome}});
      }
    }
    if (gauges_.queued) {
      const auto queued =
          add("csi_proxy_calls_queued", "Calls that wait for a worker thread, by API group.");
      for (const auto& [group, depth] : gauges_.queued()) queued(depth, {{"group", group}});
    }
    const auto formats = Running::OlderThan(RunKind::kFormat, absl::ZeroDuration(), now);
    add("csi_proxy_formats_running", "Volumes that are being formatted.")(formats.size());
    add("csi_proxy_format_oldest_seconds",
        "Time for which the oldest running format has run; 0 if none runs.")(
        formats.empty() ? 0 : absl::ToDoubleSeconds(now - formats.front().start));
    // Only the log names a call's object, because metrics have no authentication and a client
    // could create any number of series.
    const auto long_calls = add("csi_proxy_long_call_seconds",
                                "Age of the oldest call that has run for over a minute, by rpc.");
    std::set<std::string> seen;
    for (const RunInfo& call : Running::OlderThan(RunKind::kCall, kLongCall, now)) {
      if (!seen.insert(call.name).second) continue;
      long_calls(absl::ToDoubleSeconds(now - call.start), {{"rpc", call.name}});
    }
    const auto shares = gauges_.shares ? gauges_.shares() : std::nullopt;
    if (shares.has_value()) {
      const auto mappings =
          add("csi_proxy_smb_mappings",
              "Global SMB mappings, by whether a link below the working directories uses them.");
      mappings(shares->linked, {{"state", "linked"}});
      mappings(shares->unlinked, {{"state", "unlinked"}});
      mappings(shares->unknown, {{"state", "unknown"}});
      add("csi_proxy_smb_links",
          "Links below the working directories to mapped shares.")(shares->links);
    }
    if (gauges_.unmaps) {
      const auto unmaps = add("csi_proxy_smb_unmaps_total",
                              "Calls that were to remove a share's mapping, by outcome "
                              "and by the number of links to the share.",
                              MetricType::Counter);
      const smb::KnownShares::Counts counts = gauges_.unmaps();
      // Each pair of labels has a series from the start, because a new series shows no increase.
      for (size_t outcome = 0; outcome < counts.size(); ++outcome) {
        for (size_t links = 0; links < counts[outcome].size(); ++links) {
          unmaps(counts[outcome][links],
                 {{"mapping", smb::kRemovalOutcomes[outcome]}, {"links", smb::kLinkCounts[links]}});
        }
      }
    }
    return families;
  }

  // Returns all metrics in Prometheus' text format.
  HttpAnswer Text() {
    {
      const MutexLock lock(mutex_);
      ForgetIdle();
    }
    std::vector<prometheus::MetricFamily> families = registry_.Collect();
    std::ranges::move(CollectGauges(clock_()), std::back_inserter(families));
    return {.code = 200,
            .body = prometheus::TextSerializer().Serialize(families),
            .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  }

  // The series of a method, looked up by label once instead of at each call.
  struct Method {
    prometheus::Counter* started;
    prometheus::Counter* received;
    prometheus::Counter* sent;
    prometheus::Histogram* seconds;
    prometheus::Gauge* in_flight;
    // The counters by code; null before the first call with that code.
    std::array<std::atomic<prometheus::Counter*>, kGoCodes.size()> handled = {};
  };

  static prometheus::Labels Labels(const rpc::MethodInfo& method, prometheus::Labels more = {}) {
    more.insert(
        {{"grpc_type", "unary"}, {"grpc_service", method.service}, {"grpc_method", method.method}});
    return more;
  }

  // Returns the series of a method, which the address of its MethodInfo identifies.
  Method& For(const rpc::MethodInfo& method) {
    const MutexLock lock(mutex_);
    const auto [found, is_new] = methods_.try_emplace(&method);
    if (is_new) {
      found->second.started = &started_.Add(Labels(method));
      found->second.received = &received_.Add(Labels(method));
      found->second.sent = &sent_.Add(Labels(method));
      found->second.seconds = &seconds_.Add(Labels(method), kBuckets);
      found->second.in_flight = &in_flight_.Add({{"group", method.group}});
    }
    return found->second;
  }

  prometheus::Counter& Handled(Method& counters, const rpc::MethodInfo& method,
                               absl::StatusCode status) {
    const size_t code = GoCodeIndex(status);
    prometheus::Counter* counter = counters.handled[code].load(std::memory_order_acquire);
    if (counter == nullptr) {
      // Threads that race here add the same counter.
      counter = &handled_.Add(Labels(method, {{"grpc_code", kGoCodes[code]}}));
      counters.handled[code].store(counter, std::memory_order_release);
    }
    return *counter;
  }

  using Counters = prometheus::Family<prometheus::Counter>;

  // The series of one client image, or of the clients that share `unknown_` or `other_`.
  struct Image {
    // Returns the counter with these labels and the image's label.
    prometheus::Counter& Series(Counters& family, prometheus::Labels labels) {
      labels.emplace("client_image", label);
      prometheus::Counter& counter = family.Add(labels);
      series.emplace(&counter, &family);
      return counter;
    }

    std::string label;
    std::string tenant;  // of the image's first call
    bool used = true;    // since `seen` was set
    SteadyTime seen = SteadyTime::InfiniteFuture();
    std::unordered_map<const rpc::MethodInfo*, prometheus::Counter*> calls = {};
    std::map<prometheus::Counter*, Counters*> series = {};
  };

  // Returns the caller's image: `unknown_` without a name, `other_` if no label is left.
  Image& ImageOf(const Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::string_view name = ImageName(peer.image_path);
    const auto found = images_.find(std::string_view(name.data(), name.size()));
    if (found != images_.end()) {
      found->second.used = true;
      return found->second;
    }
    if (name.empty() || name == unknown_.label) return unknown_;
    if (name == other_.label) return other_;
    if (!MayAddImage(peer)) {
      ForgetIdle();
      if (!MayAddImage(peer)) return other_;
    }
    const std::string label(name);
    return images_.emplace(label, Image{label, peer.tenant}).first->second;
  }

  // Returns true if the tenant of `peer` has a label left.
  bool MayAddImage(const Peer& peer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    size_t own = 0;
    for (const auto& [name, image] : images_) own += image.tenant == peer.tenant;
    return rpc::MayTakeOneMore(own, images_.size() - own, kMaxImages, kShare,
                               rpc::ReservedOf(kMaxImages, kShare));
  }

  // Removes the series of images without calls for kIdle.
  void ForgetIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const SteadyTime now = clock_();
    for (auto next = images_.begin(); next != images_.end();) {
      const auto at = next++;
      Image& image = at->second;
      if (std::exchange(image.used, false)) image.seen = now;
      if (now - image.seen < kIdle) continue;
      for (const auto& [counter, family] : image.series) family->Remove(counter);
      images_.erase(at);
    }
  }

  const std::function<SteadyTime()> clock_;
  prometheus::Registry registry_;
  mutable Mutex gauges_mutex_;
  Gauges gauges_ ABSL_GUARDED_BY(gauges_mutex_);
  Counters& started_ = AddFamily(registry_, prometheus::BuildCounter(), "grpc_server_started_total",
                                 "Total number of RPCs started on the server.");
  Counters& handled_ = AddFamily(registry_, prometheus::BuildCounter(), "grpc_server_handled_total",
                                 "Total number of RPCs completed on the server, by code.");
  Counters& received_ =
      AddFamily(registry_, prometheus::BuildCounter(), "grpc_server_msg_received_total",
                "Total number of RPC messages received on the server.");
  Counters& sent_ =
      AddFamily(registry_, prometheus::BuildCounter(), "grpc_server_msg_sent_total",
                "Total number of RPC messages sent by the server, failures included.");
  prometheus::Family<prometheus::Histogram>& seconds_ =
      AddFamily(registry_, prometheus::BuildHistogram(), "grpc_server_handling_seconds",
                "Time from the arrival of an RPC to its answer.");
  prometheus::Family<prometheus::Gauge>& in_flight_ =
      AddFamily(registry_, prometheus::BuildGauge(), "csi_proxy_calls_in_flight",
                "Calls received but not answered yet.");
  Counters& api_calls_ =
      AddFamily(registry_, prometheus::BuildCounter(), "csi_proxy_api_calls_total",
                "Calls, by API version and client program.");
  Counters& limited_ =
      AddFamily(registry_, prometheus::BuildCounter(), "csi_proxy_client_limited_total",
                "Times that a client had used its share and wanted more, by limit.");
  Counters& unknown_fields_ =
      AddFamily(registry_, prometheus::BuildCounter(), "csi_proxy_unknown_fields_total",
                "Calls refused for a field that their version does not have.");

  Mutex mutex_;
  // Elements must not move, because For() returns references.
  std::unordered_map<const rpc::MethodInfo*, Method> methods_ ABSL_GUARDED_BY(mutex_);
  // By image name.
  std::map<std::string, Image, std::less<>> images_ ABSL_GUARDED_BY(mutex_);
  Image unknown_ ABSL_GUARDED_BY(mutex_){"unknown", ""};
  Image other_ ABSL_GUARDED_BY(mutex_){"other", ""};

  // Must be last, because its threads read the other members.
  std::unique_ptr<HttpServer> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Metrics>> Metrics::Serve(absl::string_view option,
                                                        const std::string& address,
                                                        const LineFunction& warn,
                                                        const std::string& mode,
                                                        std::function<SteadyTime()> clock) {
  if (address.empty()) return nullptr;
  ABSL_ASSIGN_OR_RETURN(const HostPort parsed, HostPort::Parse(option, address));
  auto metrics = std::make_unique<PrometheusMetrics>(mode, std::move(clock));
  if (const absl::Status status = metrics->Listen(parsed); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", status.message()));
  }
  if (parsed.host.empty()) {
    warn(absl::StrCat(option, ": anybody who reaches port ", metrics->port(),
                      " of this machine can read the metrics; give 127.0.0.1:", metrics->port(),
                      " if only this machine should"));
  }
  return metrics;
}

}  // namespace csi_proxy::observability

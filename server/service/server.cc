#include "server/service/server.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "csi_proxy/all_served_versions.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/calls/tenant_part.h"
#include "server/names/released_names.h"
#include "server/node/node_calls.h"
#include "server/observability/loggers.h"
#include "server/observability/logging.h"
#include "server/observability/metrics.h"
#include "server/rpc/pipe_server.h"
#include "server/transport/stream.h"

namespace csi_proxy {
namespace {

// The time for answers to reach their clients when the service stops.
constexpr absl::Duration kAnswersTravel = absl::Milliseconds(50);

// Returns the number of calls that a connection may have under way: a sole tenant's part of `all`,
// but at least 1 and at most 256.
uint32_t Grant(size_t all, size_t client_share) {
  constexpr size_t kMost = 256;
  return static_cast<uint32_t>(std::clamp<size_t>(rpc::PartOf(all, client_share), 1, kMost));
}

class NodeServer final : public Server {
 public:
  absl::Status Open(const Options& options, const ManagedNode& node,
                    std::vector<ExtraService> extra) {
    const auto log = spdlog::get(observability::kServiceLogger);
    ABSL_ASSIGN_OR_RETURN(auto metrics, observability::Metrics::Serve(
                                            "--metrics-bind-address", options.metrics_bind_address,
                                            observability::LinesTo(log, spdlog::level::warn)));
    if (metrics != nullptr) metrics->AddFlags(FlagsInForce(options));
    calls_ = std::make_unique<NodeCalls>(
        node, spdlog::get(observability::kCallLogger), std::move(metrics),
        NodeCalls::Limits{.max_calls = options.max_workers,
                          .max_queued = options.max_queued,
                          .max_call_duration = options.max_call_duration,
                          .client_share = options.listener.client_share});
    rpc::ListenerLimits connections = options.listener;
    connections.idle_timeout = options.idle_timeout;
    listener_ = rpc::NewListener(options.place, connections, calls_->observers());
    calls_->ServeRemotely(&inline_calls_, &gate_);
    const auto add = [&](const char* group, const auto& audited, const auto& versions) {
      for (const auto* version : versions) {
        if (!Selects(options, group, version->name)) continue;
        extra.push_back(
            {PipeName(group, version->name), version->service_name,
             rpc::NewRemoteService(version->methods, version->open(audited.service.get(), nullptr),
                                   calls_->Find(group))});
      }
    };
#define ADD_GROUP(group) add(#group, node.services().group, group::ServedVersions());
    CSI_PROXY_FOR_EACH_GROUP(ADD_GROUP)
#undef ADD_GROUP
    const rpc::Executor::Limits& limits = calls_->executor_limits();
    rpc::ServerLimits server;
    server.calls_of_main_connection =
        Grant(limits.max_threads + limits.max_blocked, limits.client_share);
    server.calls_of_further_connection = Grant(limits.max_threads, limits.client_share);
    std::vector<std::shared_ptr<const rpc::PipeServer>> pipes;
    for (ExtraService& service : extra) {
      names_.push_back(service.pipe_name);
      pipes.push_back(std::make_shared<rpc::PipeServer>(std::move(service.pipe_name),
                                                        std::move(service.full_name),
                                                        std::move(service.service), server));
    }
    ABSL_RETURN_IF_ERROR(listener_->Listen(std::move(pipes)));
    calls_->ReportConnections([this]() -> observability::Metrics::Connections {
      const rpc::ListenerCounters now = listener_->connections().counters();
      return {.silent = now.silent, .live = now.live, .outcomes = now.Outcomes()};
    });
    return absl::OkStatus();
  }

  ~NodeServer() override {
    if (calls_ != nullptr) calls_->ReportConnections(nullptr);
    NodeServer::Stop(absl::ZeroDuration());
  }

  void Stop(absl::Duration grace) override {
    if (listener_ == nullptr) return;
    listener_->Stop();
    // Stops new calls on the connections, and ends idle connections.
    listener_->connections().GoAway();
    gate_.Shut();
    if (!gate_.AwaitEmpty(SteadyTime::Now() + grace)) {
      // Logs before the waits below, because a stuck call may block the waits for ever.
      observability::Log(*spdlog::get(observability::kServiceLogger), spdlog::level::warn,
                         "the calls still under way are abandoned");
    }
    // Leaves time for sending the last answers and refusals.
    absl::SleepFor(std::min(grace, kAnswersTravel));
    listener_->CloseLive();
    gate_.AwaitEmpty(SteadyTime::InfiniteFuture());
    // A connection ends after the threads that begin its calls have left it.
    listener_->connections().AwaitNoneLive(SteadyTime::InfiniteFuture());
  }

  std::vector<std::string> PipeNames() const override { return names_; }

 private:
  // Members are destroyed in reverse order: the listener before the objects that its calls use.
  rpc::CallGate gate_;
  std::unique_ptr<NodeCalls> calls_;
  // All reading threads but one may run inline calls, so that one always reads.
  rpc::InlineCalls inline_calls_{std::max<size_t>(transport::ReadingThreads(), 1) - 1};
  std::unique_ptr<rpc::Listener> listener_;
  std::vector<std::string> names_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Options& options,
                                                      const ManagedNode& node,
                                                      std::vector<ExtraService> extra) {
  auto server = std::make_unique<NodeServer>();
  ABSL_RETURN_IF_ERROR(server->Open(options, node, std::move(extra)));
  return server;
}

}  // namespace csi_proxy

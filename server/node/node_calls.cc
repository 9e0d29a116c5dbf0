#include "server/node/node_calls.h"

#include <algorithm>

#include "csi_proxy/groups.h"
#include "server/platform/peer_process.h"

namespace csi_proxy {
namespace {

// The calls of a group that wait for Windows without a worker are at most this times its workers.
// With the default of 16 workers, a driver may stage a hundred volumes when its node starts.
constexpr size_t kBlockedPerWorker = 8;
// The calls of a tenant that wait for Windows without a worker, in all groups, are at most this
// times the workers of one group. Each of these calls keeps a thread.
constexpr size_t kBlockedOfTenantPerWorker = 14;

// The highest limit, more than the threads of any process. It keeps the executor's percentages from
// overflowing.
constexpr size_t kUnlimited = 1 << 20;

rpc::Executor::Limits ExecutorLimits(const NodeCalls::Limits& limits) {
  const size_t workers = std::min(limits.max_calls, kUnlimited);
  return {.max_threads = workers,
          .max_queued = std::min(limits.max_queued, kUnlimited),
          .client_share = limits.client_share,
          .max_blocked = kBlockedPerWorker * workers,
          .max_blocked_of_tenant = kBlockedOfTenantPerWorker * workers};
}

}  // namespace

NodeCalls::NodeCalls(const ManagedNode& node, const std::shared_ptr<spdlog::logger>& logger,
                     std::unique_ptr<observability::Metrics> metrics, const Limits& limits)
    : node_(node),
      executor_limits_(ExecutorLimits(limits)),
      call_log_(logger, node.audit()),
      metrics_(std::move(metrics)),
      observers_({&call_log_}) {
  if (metrics_ != nullptr) observers_.push_back(metrics_.get());
  const Peer own_process = OwnProcess();
  const auto add = [&](const char* name) {
    auto executor = std::make_unique<rpc::Executor>(executor_limits_);
    const rpc::CallDeps deps = {.executor = executor.get(),
                                .executor_index = groups_.size(),
                                .observers = observers_,
                                .max_call_duration = limits.max_call_duration,
                                .own_process = own_process};
    groups_.push_back({name, std::move(executor), deps});
  };
  groups_.reserve(rpc::kMaxExecutors);
// CSI_PROXY_FOR_EACH_GROUP writes one `+1` for each group. Their sum is the number of groups.
// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define COUNT_GROUP(group) +1
  static_assert(CSI_PROXY_FOR_EACH_GROUP(COUNT_GROUP) <= rpc::kMaxExecutors);
#undef COUNT_GROUP
#define ADD_GROUP(group) add(#group);
  CSI_PROXY_FOR_EACH_GROUP(ADD_GROUP)
#undef ADD_GROUP
  ReportConnections(nullptr);
}

NodeCalls::~NodeCalls() {
  if (metrics_ != nullptr) metrics_->SetGauges({});
}

const rpc::CallDeps* NodeCalls::Find(absl::string_view group) const {
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const Group& one) { return one.name == group; });
  return found != groups_.end() ? &found->deps : nullptr;
}

void NodeCalls::ServeRemotely(rpc::InlineCalls* inline_calls, rpc::CallGate* gate) {
  for (Group& group : groups_) {
    group.deps.inline_calls = inline_calls;
    group.deps.gate = gate;
  }
}

void NodeCalls::ReportConnections(
    std::function<observability::Metrics::Connections()> connections) {
  if (metrics_ == nullptr) return;
  const auto queued = [this] {
    std::vector<std::pair<std::string, size_t>> depths;
    for (const Group& group : groups_) depths.emplace_back(group.name, group.executor->queued());
    return depths;
  };
  metrics_->SetGauges({.connections = std::move(connections),
                       .queued = queued,
                       .shares = [this] { return node_.share_counts(); },
                       .unmaps = [this] { return node_.unmaps(); }});
}

}  // namespace csi_proxy

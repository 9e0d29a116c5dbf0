// Runs and observes the calls of a node, in the service and in embedded mode alike.
#pragma once

#include <spdlog/logger.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/calls/call_deps.h"
#include "server/calls/executor.h"
#include "server/node/managed_node.h"
#include "server/observability/call_log.h"
#include "server/observability/metrics.h"

namespace csi_proxy {

// Owns the executors and observers of a node's calls. Thread-safe, except ServeRemotely().
class NodeCalls {
 public:
  // The limits of each API group.
  struct Limits {
    size_t max_calls;
    size_t max_queued;
    absl::Duration max_call_duration;
    // A tenant's part in percent; see Executor::Limits::client_share.
    size_t client_share = 100;
  };

  // Logs calls to `logger`. Counts them in `metrics` if that is not null. REQUIRES: `node` outlives
  // this object.
  NodeCalls(const ManagedNode& node, const std::shared_ptr<spdlog::logger>& logger,
            std::unique_ptr<observability::Metrics> metrics, const Limits& limits);
  ~NodeCalls();

  // Returns the executor, observers and limits for the calls of `group`, which this object owns;
  // null if there is no such group.
  const rpc::CallDeps* Find(absl::string_view group) const;

  const rpc::Executor::Limits& executor_limits() const { return executor_limits_; }
  const std::vector<rpc::CallObserver*>& observers() const { return observers_; }

  // Sets the objects that only remote calls need. REQUIRES: no call has arrived; the objects
  // outlive the calls.
  void ServeRemotely(rpc::InlineCalls* inline_calls, rpc::CallGate* gate);

  // Adds the counters of connections to the metrics; null removes them.
  void ReportConnections(std::function<observability::Metrics::Connections()> connections);

 private:
  // Each group has its own threads, so that a pod that floods one group does not starve the others.
  struct Group {
    const char* name;
    std::unique_ptr<rpc::Executor> executor;
    rpc::CallDeps deps;
  };

  const ManagedNode& node_;
  const rpc::Executor::Limits executor_limits_;
  // Destroyed in reverse order: the executors, which run the calls, before the objects that calls
  // use.
  observability::CallLog call_log_;
  const std::unique_ptr<observability::Metrics> metrics_;
  std::vector<rpc::CallObserver*> observers_;
  std::vector<Group> groups_;
};

}  // namespace csi_proxy

// Metrics for Prometheus, under the names of go-grpc-prometheus, which dashboards know.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/rpc/executor.h"
#include "server/rpc/listener.h"
#include "server/rpc/runtime.h"

namespace csi_proxy::observability {

// Counts calls and serves the counts over HTTP. Thread-safe.
class Metrics final : public rpc::CallObserver {
 public:
  // The volumes that are being formatted: how many, and for how long the first of them.
  struct Formats {
    size_t count = 0;
    absl::Duration oldest;
  };

  // The node's SMB mappings, by the links that lead to them, and these links.
  struct Shares {
    size_t linked = 0;
    size_t unlinked = 0;
    size_t unknown = 0;
    size_t links = 0;
  };

  // How often a mapping of a share was removed or kept, by how many links led to the share then.
  struct Unmaps {
    const char* mapping;
    const char* links;
    uint64_t times;
  };

  // Read whenever somebody asks for the numbers. Called on a thread of the HTTP server.
  struct Gauges {
    std::function<rpc::ListenerCounters()> connections;
    // By group.
    std::function<std::vector<std::pair<std::string, size_t>>()> queued;
    std::function<Formats()> formats = nullptr;
    // Nothing: not known.
    std::function<std::optional<Shares>()> shares = nullptr;
    std::function<std::vector<Unmaps>()> unmaps = nullptr;
  };

  // Serves `/metrics` at `address`, as `10.0.0.1:9090`, or `:9090` for 127.0.0.1; null for "",
  // which asks for none. INVALID_ARGUMENT, naming `option`, for anything else, or when it cannot
  // listen there. `clock` is for tests.
  static absl::StatusOr<std::unique_ptr<Metrics>> Serve(
      absl::string_view option, const std::string& address,
      std::function<absl::Time()> clock = absl::Now);
  ~Metrics() override;

  // The port it listens on; of use if 0 was asked for.
  int port() const;

  // Until then, connections and queues are not reported. They must be readable until the metrics
  // are destroyed or other gauges are set.
  void SetGauges(Gauges gauges);

  void OnStart(const rpc::MethodInfo& method) override;
  void OnDone(const rpc::MethodInfo& method, const Peer& peer, const absl::Status& status,
              absl::Duration duration) override;
  void OnLimit(const Peer& peer, rpc::Limit limit, uint64_t times) override;

 private:
  class Impl;
  explicit Metrics(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace csi_proxy::observability

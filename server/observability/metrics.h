// Prometheus metrics, under the names of go-grpc-prometheus that dashboards use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csi_proxy/log_function.h"
#include "csi_proxy/steady_time.h"
#include "server/base/flag_in_force.h"
#include "server/calls/call_deps.h"
#include "server/calls/executor.h"
#include "server/groups/share_count.h"
#include "server/groups/smb/known_shares.h"

namespace csi_proxy::observability {

// Counts calls and serves the counts over HTTP. Thread-safe.
class Metrics : public rpc::CallObserver {
 public:
  struct Connections {
    size_t silent = 0;  // open now, before the preface
    size_t live = 0;    // open now, served
    // The number of connections with each outcome since the start.
    std::vector<std::pair<std::string, uint64_t>> outcomes = {};
  };
  // Functions that are called at each scrape, on a thread of the HTTP server. A null function adds
  // no metrics.
  struct Gauges {
    std::function<Connections()> connections;
    // The number of waiting calls, by group.
    std::function<std::vector<std::pair<std::string, size_t>>()> queued;
    // Returns the last counts of mappings; nullopt before the first count or after one that failed.
    std::function<std::optional<groups::ShareCounts>()> shares = nullptr;
    // How often a mapping was removed or kept, by the number of links to the share at that time.
    std::function<smb::KnownShares::Counts()> unmaps = nullptr;
  };

  // Serves `/metrics` at `address`: `10.0.0.1:9090`, or `:9090` for all addresses, with a warning.
  // Returns null for "". Returns INVALID_ARGUMENT, naming `option`, if `address` is malformed or
  // listening fails. `mode` is a label of csi_proxy_build_info; `clock` is for tests.
  static absl::StatusOr<std::unique_ptr<Metrics>> Serve(
      absl::string_view option, const std::string& address, const LineFunction& warn,
      const std::string& mode = "service", std::function<SteadyTime()> clock = SteadyTime::Now);

  // Returns the port; the system chose it if 0 was given.
  virtual int port() const = 0;

  // Adds a gauge `csi_proxy_flag` for each flag, labelled with its default.
  virtual void AddFlags(const std::vector<FlagInForce>& flags) = 0;

  // Sets the gauges; initially all functions are null. REQUIRES: the functions can be called until
  // the metrics are destroyed or other gauges are set.
  virtual void SetGauges(Gauges gauges) = 0;
};

}  // namespace csi_proxy::observability

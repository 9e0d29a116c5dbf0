// The service: serves one node, with a pipe for each version of an API group.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/service/open_node.h"

namespace csi_proxy {

// Thread-safe but for Stop().
class Server {
 public:
  // Serves `node`, which must outlive the server. All pipes answer when this returns. Returns
  // INVALID_ARGUMENT if the metrics cannot be served at the address of the options, or
  // Listener::Listen()'s error.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Options& options,
                                                       const ManagedNode& node,
                                                       std::vector<ExtraService> extra);
  virtual ~Server() = default;

  // Returns the names of the pipes, in order.
  virtual std::vector<std::string> PipeNames() const = 0;

  // Stops accepting connections, refuses new calls, waits at most `grace` for calls under way, then
  // cancels them and waits for their end. A call that does not return blocks Stop() for ever.
  // Idempotent.
  virtual void Stop(absl::Duration grace) = 0;
};

}  // namespace csi_proxy

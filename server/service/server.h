// The service: serves one node on a pipe for each released version.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/service/open_node.h"

namespace csi_proxy {

// Thread-safe.
class Server {
 public:
  // Serves `node`, which must outlive the server. All pipes answer when this returns. Returns
  // INVALID_ARGUMENT if an option names an unknown version, or Listener::Listen()'s error.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Options& options,
                                                       const ManagedNode& node,
                                                       std::vector<ExtraService> extra);
  virtual ~Server() = default;

  // Returns the names of the pipes, in order.
  virtual std::vector<std::string> PipeNames() const = 0;

  // Stops accepting connections, refuses new calls, waits at most `grace` for calls under way, then
  // cancels these. Idempotent.
  virtual void Stop(absl::Duration grace) = 0;
};

}  // namespace csi_proxy

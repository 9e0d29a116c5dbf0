// The service as a whole: a node, and a pipe for every released version over it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/node/managed_node.h"
#include "server/service/options.h"
#include "server/service/versioned_services.h"

namespace csi_proxy {

// Thread-safe.
class Server {
 public:
  // Serves `node`, which outlives the server. All pipes answer when it returns. Fails as
  // Listener::Listen does, and with INVALID_ARGUMENT for an option that names no released version.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Options& options,
                                                       const ManagedNode& node,
                                                       std::vector<ExtraService> extra);
  ~Server();

  // The names of the pipes, in order.
  std::vector<std::string> PipeNames() const;

  // Takes no new connections, refuses new calls, waits at most `grace` for those under way, then
  // cancels them. Idempotent.
  void Stop(absl::Duration grace);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace csi_proxy
